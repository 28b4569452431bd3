package io.stadium.rsocket.connection;

import io.stadium.rsocket.frame.Frame;
import java.util.Objects;

/**
 * The bounds and options of connections. One object serves all connections of a client or a server.
 *
 * <p>Instances are immutable; a {@link Builder} makes them.
 */
public final class Config {
    /** The options of a new {@link Builder}. */
    public static final Config DEFAULT = builder().build();

    /** The smallest value of {@link #fragmentBytes} but 0. */
    public static final int FRAGMENT_BYTES_MIN = 64;

    private final int frameBytesMax;
    private final int fragmentBytes;
    private final int payloadBytesMax;
    private final int setupBytesMax;
    private final int streamsMax;
    private final int keepaliveIntervalMs;
    private final int lifetimeMs;
    private final int setupMs;
    private final LeaseMode lease;

    private Config(Builder builder) {
        frameBytesMax = builder.frameBytesMax;
        fragmentBytes = builder.fragmentBytes;
        payloadBytesMax = builder.payloadBytesMax;
        setupBytesMax = builder.setupBytesMax;
        streamsMax = builder.streamsMax;
        keepaliveIntervalMs = builder.keepaliveIntervalMs;
        lifetimeMs = builder.lifetimeMs;
        setupMs = builder.setupMs;
        lease = builder.lease;
    }

    /**
     * Begins with the default options.
     *
     * @return a new builder
     */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * The longest frame that is read. A longer one ends the connection as soon as its length
     * arrives.
     *
     * @return bytes without the frame's length, 6 to 16,777,215; default 16,777,215
     */
    public int frameBytesMax() {
        return frameBytesMax;
    }

    /**
     * The longest frame that is sent. A payload that needs more is sent in fragments.
     *
     * @return bytes without the frame's length, 64 to 16,777,215; default 65,536. 0 sends no
     *     fragments, and a payload that needs a longer frame than 16,777,215 is refused
     */
    public int fragmentBytes() {
        return fragmentBytes;
    }

    /**
     * The largest metadata and data of one payload together, sent or received, and of all
     * unfinished payloads of a connection together. A peer that sends more has that stream ended
     * with INVALID.
     *
     * @return bytes; default 16 MiB
     */
    public int payloadBytesMax() {
        return payloadBytesMax;
    }

    /**
     * Server: the longest frame that is read before a SETUP was accepted.
     *
     * @return bytes without the frame's length; default 4,096
     */
    public int setupBytesMax() {
        return setupBytesMax;
    }

    /**
     * How many streams each side may have open. A peer's request above it gets REJECTED, one of
     * this side {@link RequestError#STREAMS_MAX}.
     *
     * @return streams; default 10,000
     */
    public int streamsMax() {
        return streamsMax;
    }

    /**
     * Client: the time between two KEEPALIVE frames.
     *
     * @return milliseconds, at least 1; default 20,000
     */
    public int keepaliveIntervalMs() {
        return keepaliveIntervalMs;
    }

    /**
     * Client: the time without a sign of life after which either side considers the other dead. A
     * server takes the value of the client's SETUP.
     *
     * @return milliseconds, at least 1; default 90,000
     */
    public int lifetimeMs() {
        return lifetimeMs;
    }

    /**
     * Server: the time in which a SETUP must have arrived and been accepted.
     *
     * @return milliseconds; default 10,000
     */
    public int setupMs() {
        return setupMs;
    }

    /**
     * Whether requests need leases.
     *
     * @return the mode; default {@link LeaseMode#OFF}
     */
    public LeaseMode lease() {
        return lease;
    }

    /** The longest frame that is sent, whatever {@link #fragmentBytes} says. */
    int sentFrameBytesMax() {
        return fragmentBytes == 0 ? Frame.BYTES_MAX : fragmentBytes;
    }

    /** Makes a {@link Config}. Each method checks its argument and returns the builder. */
    public static final class Builder {
        private int frameBytesMax = Frame.BYTES_MAX;
        private int fragmentBytes = 64 * 1024;
        private int payloadBytesMax = 16 * 1024 * 1024;
        private int setupBytesMax = 4096;
        private int streamsMax = 10_000;
        private int keepaliveIntervalMs = 20_000;
        private int lifetimeMs = 90_000;
        private int setupMs = 10_000;
        private LeaseMode lease = LeaseMode.OFF;

        private Builder() {}

        /**
         * Sets {@link Config#frameBytesMax}.
         *
         * @param bytes 6 to 16,777,215
         * @return this builder
         */
        public Builder frameBytesMax(int bytes) {
            frameBytesMax = check("frameBytesMax", bytes, Frame.HEADER_BYTES, Frame.BYTES_MAX);
            return this;
        }

        /**
         * Sets {@link Config#fragmentBytes}.
         *
         * @param bytes 64 to 16,777,215, or 0
         * @return this builder
         */
        public Builder fragmentBytes(int bytes) {
            fragmentBytes = bytes == 0 ? 0 : check("fragmentBytes", bytes, FRAGMENT_BYTES_MIN,
                    Frame.BYTES_MAX);
            return this;
        }

        /**
         * Sets {@link Config#payloadBytesMax}.
         *
         * @param bytes 0 to 1 GiB
         * @return this builder
         */
        public Builder payloadBytesMax(int bytes) {
            payloadBytesMax = check("payloadBytesMax", bytes, 0, 1 << 30);
            return this;
        }

        /**
         * Sets {@link Config#setupBytesMax}.
         *
         * @param bytes 6 to 16,777,215
         * @return this builder
         */
        public Builder setupBytesMax(int bytes) {
            setupBytesMax = check("setupBytesMax", bytes, Frame.HEADER_BYTES, Frame.BYTES_MAX);
            return this;
        }

        /**
         * Sets {@link Config#streamsMax}.
         *
         * @param streams 0 to 100,000,000
         * @return this builder
         */
        public Builder streamsMax(int streams) {
            streamsMax = check("streamsMax", streams, 0, 100_000_000);
            return this;
        }

        /**
         * Sets {@link Config#keepaliveIntervalMs}.
         *
         * @param ms at least 1
         * @return this builder
         */
        public Builder keepaliveIntervalMs(int ms) {
            keepaliveIntervalMs = check("keepaliveIntervalMs", ms, 1, Integer.MAX_VALUE);
            return this;
        }

        /**
         * Sets {@link Config#lifetimeMs}.
         *
         * @param ms at least 1
         * @return this builder
         */
        public Builder lifetimeMs(int ms) {
            lifetimeMs = check("lifetimeMs", ms, 1, Integer.MAX_VALUE);
            return this;
        }

        /**
         * Sets {@link Config#setupMs}.
         *
         * @param ms at least 1
         * @return this builder
         */
        public Builder setupMs(int ms) {
            setupMs = check("setupMs", ms, 1, Integer.MAX_VALUE);
            return this;
        }

        /**
         * Sets {@link Config#lease}.
         *
         * @param mode the mode
         * @return this builder
         */
        public Builder lease(LeaseMode mode) {
            lease = Objects.requireNonNull(mode);
            return this;
        }

        /**
         * Makes the options.
         *
         * @return a new object
         */
        public Config build() {
            return new Config(this);
        }

        private static int check(String name, int value, int min, int max) {
            if (value < min || value > max) {
                throw new IllegalArgumentException(
                        name + " must be between " + min + " and " + max + ", not " + value);
            }
            return value;
        }
    }
}
