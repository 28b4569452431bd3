package io.stadium.api;

import io.stadium.v1.ReleaseRequest;
import java.time.Duration;

/** When a job that is given back is due again. */
public final class Due {
    private static final Due AFTER_BACKOFF = new Due(By.BACKOFF, 0);

    private final By by;
    private final long delayMs;

    private enum By { BACKOFF, DELAY, NOT_TRIED }

    private Due(By by, long delayMs) {
        this.by = by;
        this.delayMs = delayMs;
    }

    /**
     * After the queue's back-off. The attempt counts.
     *
     * @return when
     */
    public static Due afterBackoff() {
        return AFTER_BACKOFF;
    }

    /**
     * After a time. The attempt counts.
     *
     * @param delay not negative
     * @return when
     */
    public static Due after(Duration delay) {
        return new Due(By.DELAY, Times.millis("delay", delay));
    }

    /**
     * After a time, as if the job had not been reserved: the worker never began.
     *
     * @param delay not negative
     * @return when
     */
    public static Due notTried(Duration delay) {
        return new Due(By.NOT_TRIED, Times.millis("delay", delay));
    }

    void describe(ReleaseRequest.Builder request) {
        switch (by) {
            case DELAY -> request.setDelayMs(delayMs);
            case NOT_TRIED -> request.setNotTriedMs(delayMs);
            default -> { }
        }
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Due due && due.by == by && due.delayMs == delayMs;
    }

    @Override
    public int hashCode() {
        return by.hashCode() * 31 + Long.hashCode(delayMs);
    }

    @Override
    public String toString() {
        return by + (by == By.BACKOFF ? "" : " " + delayMs + " ms");
    }
}
