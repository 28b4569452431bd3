package io.stadium.api;

import java.time.Duration;

/** Thrown by a handler: the job is to be tried again. The attempt counts. */
public final class Retry extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Milliseconds; negative: the queue's back-off. */
    private final long afterMs;

    /**
     * Again after the queue's back-off.
     *
     * @param error for the history; the first 1,024 bytes are kept
     */
    public Retry(String error) {
        super(error);
        afterMs = -1;
    }

    /**
     * Again after a time.
     *
     * @param after not negative
     * @param error for the history; the first 1,024 bytes are kept
     */
    public Retry(Duration after, String error) {
        super(error);
        afterMs = Times.millis("after", after);
    }

    Due due() {
        return afterMs < 0 ? Due.afterBackoff() : Due.after(Duration.ofMillis(afterMs));
    }
}
