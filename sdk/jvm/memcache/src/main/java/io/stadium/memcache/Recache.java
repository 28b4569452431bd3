package io.stadium.memcache;

import java.time.Duration;

/**
 * The conditions under which a value is made anew. Whole seconds, rounded up.
 *
 * @param lease a caller that wins has so long, 1 s at least; then another one wins
 * @param early one caller wins when the value has less than this left to live; zero for never
 */
public record Recache(Duration lease, Duration early) {
    private static long seconds(Duration time) {
        return time.getSeconds() + (time.getNano() > 0 ? 1 : 0);
    }

    long leaseOnWire() {
        return Expiry.seconds(Math.max(1, seconds(lease))).onWire();
    }

    int earlySeconds() {
        return (int) Math.max(0, Math.min(seconds(early), Integer.MAX_VALUE));
    }
}
