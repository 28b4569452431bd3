package io.stadium.rpc.client;

import java.time.Duration;
import java.util.Objects;

/**
 * Wishes for one call beyond its method and request. Instances are immutable, and one may serve
 * many calls.
 */
public final class CallOptions {
    /** No wishes: the client's settings hold. */
    public static final CallOptions DEFAULT = new CallOptions();

    /** The longest deadline. */
    static final Duration DEADLINE_MAX = Duration.ofDays(1);

    private static final int CREDIT = 64;

    private Duration deadline;
    private byte[] key;
    private String bearer;
    private TraceContext trace;
    private byte[] metadata;
    private int credit = CREDIT;

    private CallOptions() {}

    private CallOptions(CallOptions other) {
        deadline = other.deadline;
        key = other.key;
        bearer = other.bearer;
        trace = other.trace;
        metadata = other.metadata;
        credit = other.credit;
    }

    /**
     * With a deadline.
     *
     * @param deadline the longest that the caller waits, from 1 ms to a day. A stream or a channel
     *     is bounded only where this is given
     * @return other options
     */
    public CallOptions deadline(Duration deadline) {
        if (deadline.toMillis() < 1 || deadline.compareTo(DEADLINE_MAX) > 0) {
            throw new IllegalArgumentException("a deadline is 1 ms to a day, not " + deadline);
        }
        CallOptions copy = new CallOptions(this);
        copy.deadline = deadline;
        return copy;
    }

    /**
     * With an affinity key: calls with the same key go to the same instance while it lives. They
     * are not hedged.
     *
     * @param key any bytes, which are not changed afterwards
     * @return other options
     */
    public CallOptions key(byte[] key) {
        CallOptions copy = new CallOptions(this);
        copy.key = Objects.requireNonNull(key, "key");
        return copy;
    }

    /**
     * With a bearer token, instead of the client's.
     *
     * @param token the token; it is not logged
     * @return other options
     */
    public CallOptions bearer(String token) {
        CallOptions copy = new CallOptions(this);
        copy.bearer = Objects.requireNonNull(token, "token");
        return copy;
    }

    /**
     * With a place in a trace, instead of the client's hook.
     *
     * @param trace the place
     * @return other options
     */
    public CallOptions trace(TraceContext trace) {
        CallOptions copy = new CallOptions(this);
        copy.trace = Objects.requireNonNull(trace, "trace");
        return copy;
    }

    /**
     * With entries of composite metadata, for interceptors of the service.
     *
     * @param metadata encoded entries, which are not changed afterwards
     * @return other options
     */
    public CallOptions metadata(byte[] metadata) {
        CallOptions copy = new CallOptions(this);
        copy.metadata = Objects.requireNonNull(metadata, "metadata");
        return copy;
    }

    /**
     * With another bound of the messages of a stream that the service may send ahead.
     *
     * @param credit messages, at least 1; default 64
     * @return other options
     */
    public CallOptions credit(int credit) {
        if (credit < 1) {
            throw new IllegalArgumentException("credit is at least 1, not " + credit);
        }
        CallOptions copy = new CallOptions(this);
        copy.credit = credit;
        return copy;
    }

    Duration deadline() {
        return deadline;
    }

    byte[] key() {
        return key;
    }

    String bearer() {
        return bearer;
    }

    TraceContext trace() {
        return trace;
    }

    byte[] metadata() {
        return metadata;
    }

    int credit() {
        return credit;
    }

    /** Whether a request has metadata beside route, deadline and the client's own. */
    boolean hasOwnMetadata() {
        return key != null || bearer != null || trace != null || metadata != null;
    }

    /** Hides the token, the key and the metadata. */
    @Override
    public String toString() {
        return "CallOptions[deadline=" + deadline + ", credit=" + credit + "]";
    }
}
