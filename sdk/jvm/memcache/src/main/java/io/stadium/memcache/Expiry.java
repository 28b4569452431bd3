package io.stadium.memcache;

import java.time.Duration;

/** The time at which an item expires. */
public final class Expiry {
    /** Only when the server needs its memory. */
    public static final Expiry NEVER = new Expiry(null);

    /** The longest time that a server takes as seconds from now; above it, it takes a Unix time. */
    private static final long RELATIVE_SECONDS_MAX = 60 * 60 * 24 * 30;

    private final Duration after;

    private Expiry(Duration after) {
        this.after = after;
    }

    /**
     * After a time.
     *
     * @param time rounded up to whole seconds; zero or less means at once
     * @return the expiry
     */
    public static Expiry after(Duration time) {
        return new Expiry(java.util.Objects.requireNonNull(time, "time"));
    }

    /**
     * After some seconds.
     *
     * @param seconds zero or less means at once
     * @return the expiry
     */
    public static Expiry seconds(long seconds) {
        return after(Duration.ofSeconds(seconds));
    }

    /** As the protocol has it. */
    long onWire() {
        if (after == null) {
            return 0;
        }
        long seconds = after.getSeconds();
        if (after.getNano() > 0 && seconds < Long.MAX_VALUE) {
            seconds++;
        }
        if (seconds <= 0) {
            return -1;
        }
        if (seconds <= RELATIVE_SECONDS_MAX) {
            return seconds;
        }
        // The server's own times are 32 bits of seconds.
        long now = System.currentTimeMillis() / 1_000;
        return Math.min(Math.min(seconds, Integer.MAX_VALUE) + now, Integer.MAX_VALUE);
    }

    @Override
    public String toString() {
        return after == null ? "never" : "after " + after;
    }
}
