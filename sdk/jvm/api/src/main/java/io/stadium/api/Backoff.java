package io.stadium.api;

import java.util.concurrent.ThreadLocalRandom;

/** Times between attempts: each is twice the one before, and a random half of it less. */
final class Backoff {
    private final long min;
    private final long max;
    private int failures;

    Backoff(long min, long max) {
        this.min = min;
        this.max = max;
    }

    long next() {
        long now = Math.min(min << Math.min(failures, 20), max);
        failures++;
        return (long) (now * ThreadLocalRandom.current().nextDouble(0.5, 1.0));
    }

    void reset() {
        failures = 0;
    }
}
