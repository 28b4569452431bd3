package io.stadium.rpc;

import java.time.Duration;
import java.util.Objects;

/** The service is busy. Nothing happened: the caller may send the request again after a time. */
public final class Busy extends RpcException {
    private static final long serialVersionUID = 1L;

    /** When the request may be sent again. */
    private final Duration retryAfter;

    /** The service's text. */
    private final String reason;

    /**
     * Creates the outcome.
     *
     * @param retryAfter when the request may be sent again, counted from now
     * @param reason the service's text
     */
    public Busy(Duration retryAfter, String reason) {
        super("busy, retry after " + retryAfter.toMillis() + " ms: " + reason, false);
        this.retryAfter = retryAfter;
        this.reason = Objects.requireNonNull(reason, "reason");
    }

    /**
     * When the request may be sent again.
     *
     * @return the time from the answer on
     */
    public Duration retryAfter() {
        return retryAfter;
    }

    /**
     * Why.
     *
     * @return the service's text
     */
    public String reason() {
        return reason;
    }
}
