package io.stadium.api;

import java.time.Duration;
import java.time.Instant;

/** Spans and moments as the milliseconds of the contracts. */
final class Times {
    /** Longer than anything; it fits in nanoseconds too. */
    private static final long SPAN_MS_MAX = Duration.ofDays(365L * 200).toMillis();

    private Times() {}

    /** A span. Anything above zero is at least a millisecond: 0 often means that it is not set. */
    static long millis(String name, Duration span) {
        if (span.isNegative() || span.compareTo(Duration.ofMillis(SPAN_MS_MAX)) > 0) {
            throw new IllegalArgumentException(name + " is " + span + ", and must not be negative");
        }
        return span.isZero() ? 0 : Math.max(1, span.toMillis());
    }

    static long millis(String name, Instant moment) {
        if (moment.isBefore(Instant.EPOCH)) {
            throw new IllegalArgumentException(name + " is " + moment + ", which is before 1970");
        }
        return moment.toEpochMilli();
    }

    static Instant moment(long millis) {
        return Instant.ofEpochMilli(millis);
    }

    static Duration span(long millis) {
        return Duration.ofMillis(millis < 0 ? SPAN_MS_MAX : Math.min(millis, SPAN_MS_MAX));
    }
}
