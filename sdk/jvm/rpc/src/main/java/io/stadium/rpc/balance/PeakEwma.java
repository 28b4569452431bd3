package io.stadium.rpc.balance;

/**
 * A moving average of latencies that takes over a higher one at once, and forgets it with time.
 *
 * <p>Times are microseconds. Nothing is known before the first sample.
 */
final class PeakEwma {
    /** The least that an answer costs, so that costs never become zero. */
    private static final double MIN_US = 0.25;

    private final double decayUs;

    /** At {@link #stampUs}; 0 before the first sample. */
    private double averageUs;

    private long stampUs;

    PeakEwma(long decayUs) {
        this.decayUs = Math.max(decayUs, 1);
    }

    void observe(long latencyUs, long nowUs) {
        double latency = Math.max(latencyUs, MIN_US);
        if (latency >= averageUs) {
            averageUs = latency;
        } else {
            averageUs = latency + (averageUs - latency) * kept(nowUs);
        }
        stampUs = Math.max(stampUs, nowUs);
    }

    /** Observes a latency only where it is worse than what is known. */
    void observePeak(long latencyUs, long nowUs) {
        if (latencyUs > (isEmpty() ? 0.0 : at(nowUs))) {
            observe(latencyUs, nowUs);
        }
    }

    boolean isEmpty() {
        return averageUs == 0.0;
    }

    /** The average now; it has a meaning only where it is not empty. */
    double at(long nowUs) {
        return Math.max(averageUs * kept(nowUs), MIN_US);
    }

    /** The share of the average that is left. */
    private double kept(long nowUs) {
        double ratio = Math.max(nowUs - stampUs, 0) / decayUs;
        // Most samples are fresh: two terms are exact to a millionth and cost less than exp().
        return ratio < 0.01 ? 1.0 - ratio + ratio * ratio * 0.5 : Math.exp(-ratio);
    }
}
