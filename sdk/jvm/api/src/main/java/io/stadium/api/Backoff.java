package io.stadium.api;

import io.stadium.rpc.Busy;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Times between attempts: each is twice the one before, and a random half of it less. */
final class Backoff {
    /** More than a server asks for; a worker that waits for longer would look dead. */
    private static final long BUSY_MS_MAX = 60_000;

    private final long min;
    private final long max;
    private int failures;

    Backoff(long min, long max) {
        this.min = min;
        this.max = max;
    }

    private long next() {
        long now = Math.min(min << Math.min(failures, 20), max);
        failures++;
        return (long) (now * ThreadLocalRandom.current().nextDouble(0.5, 1.0));
    }

    /** The next time, or the longer one that a busy server asks for, up to a minute. */
    long next(Throwable failure) {
        long asked = failure instanceof Busy busy
                ? TimeUnit.MILLISECONDS.toNanos(Math.min(busy.retryAfter().toMillis(), BUSY_MS_MAX))
                : 0;
        return Math.max(next(), asked);
    }

    void reset() {
        failures = 0;
    }
}
