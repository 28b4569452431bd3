package io.stadium.rpc.admission;

/**
 * One figure for how loaded an instance is, and how long a refused caller should stay away.
 *
 * <p>0 is idle, 1 is all that the instance can do, more means that calls wait. The figure is
 * smoothed, and reported only when it has changed. docs/rpc-guards.md, Load, specifies each step.
 * Instances are not thread-safe.
 */
public final class LoadSignal {
    /**
     * What was measured since the last reading.
     *
     * @param inflight calls under way
     * @param limit calls that may be under way
     * @param queueFill the share of the queue that is taken, 0 to 1
     * @param waitMs how long a call that is refused now would have waited, in milliseconds; 0 while
     *     no call waits
     * @param busyNs time that the event loop has worked, in nanoseconds
     * @param idleNs time that it had nothing to do, in nanoseconds
     */
    public record Reading(
            int inflight, int limit, float queueFill, long waitMs, long busyNs, long idleNs) {}

    private static final float SMOOTHING_US = 500_000;
    private static final float REPORT_STEP = 0.05f;
    private static final long REPORT_EVERY_US = 10_000_000;
    private static final float RETRY_MIN_MS = 10;
    private static final float RETRY_MAX_MS = 5_000;

    private float factor;
    private long waitMs;
    private boolean isRead;
    private long readAtUs;
    private boolean isReported;
    private float reported;
    private long reportedAtUs;

    /** Creates a signal that starts at 0. */
    public LoadSignal() {}

    /**
     * Takes a reading. Any interval will do.
     *
     * @param reading what was measured
     * @param nowUs microseconds
     */
    public void read(Reading reading, long nowUs) {
        float used = (float) reading.inflight / Math.max(reading.limit, 1);
        long total = Math.max(reading.busyNs + reading.idleNs, 1);
        float busy = (float) reading.busyNs / (float) total;
        float fill = Float.isFinite(reading.queueFill)
                ? Math.min(Math.max(reading.queueFill, 0), 1) : 0;
        float seen = Math.max(used, busy) + fill;
        float weight = 1;
        if (isRead) {
            weight = 1 - (float) Math.exp(-((float) Math.max(nowUs - readAtUs, 0)) / SMOOTHING_US);
        }
        factor += (seen - factor) * weight;
        waitMs = reading.waitMs;
        isRead = true;
        readAtUs = nowUs;
    }

    /**
     * The load factor.
     *
     * @return 0 idle, 1 full, more where calls wait
     */
    public float factor() {
        return factor;
    }

    /**
     * When a caller that is refused now should ask again.
     *
     * @return 10 to 5,000 milliseconds
     */
    public int retryAfterMs() {
        float byLoad = RETRY_MIN_MS * (1 + 10 * Math.max(factor - 1, 0));
        return (int) Math.min(Math.max(Math.max(waitMs, byLoad), RETRY_MIN_MS), RETRY_MAX_MS);
    }

    /**
     * Whether peers are sent the factor now. The factor then counts as reported.
     *
     * @param nowUs microseconds
     * @return whether it has changed by 0.05, or a little for ten seconds
     */
    public boolean report(long nowUs) {
        boolean isDue = !isReported
                || Math.abs(reported - factor) >= REPORT_STEP
                || reported != factor && nowUs - reportedAtUs >= REPORT_EVERY_US;
        if (isDue) {
            isReported = true;
            reported = factor;
            reportedAtUs = nowUs;
        }
        return isDue;
    }

    /** Makes the next {@link #report} true: there is a peer that knows nothing yet. */
    public void reportAgain() {
        isReported = false;
    }
}
