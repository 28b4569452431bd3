package io.stadium.rpc.balance;

import java.util.Arrays;

/**
 * When a copy of a slow call is sent to another instance: after the time in which most calls of the
 * method are answered, within a budget of copies. Times are microseconds.
 */
public final class Hedge {
    /** {@link #called}: too little is known. */
    public static final long NEVER = -1;

    private static final int BUCKETS = 208;

    /** Answers after which a wait that is known is computed anew. */
    private static final int STALE_AFTER = 256;

    private final Settings settings;
    private final Budget budget;
    private int[] counts = new int[BUCKETS];
    private int[] countsBefore = new int[BUCKETS];
    private long count;
    private long countBefore;
    private long windowEndUs;
    private long staleIn;
    private long waitUs = NEVER;

    /**
     * The settings of a hedge.
     *
     * @param samplesMin answers without which no copy is sent; default 100
     * @param percentile the share of the calls that are faster than a copy; default 0.95
     * @param factor of the wait; default 1
     * @param waitMinUs the shortest wait; default 1 ms
     * @param windowUs answers of this time and of as long before it count; default 10 s
     * @param share copies for each call; default 0.05
     */
    public record Settings(
            int samplesMin, double percentile, double factor, long waitMinUs, long windowUs,
            double share) {
        /** The defaults. */
        public static final Settings DEFAULT =
                new Settings(100, 0.95, 1.0, 1_000, 10_000_000, 0.05);
    }

    /**
     * Creates the hedge of one method.
     *
     * @param settings the settings
     */
    public Hedge(Settings settings) {
        this.settings = settings;
        budget = new Budget(settings.share, 0, 10);
        staleIn = settings.samplesMin;
    }

    /**
     * A call is made.
     *
     * @return after which time its copy is due, or {@link #NEVER}
     */
    public long called() {
        budget.called();
        return waitUs;
    }

    /**
     * A copy is due.
     *
     * @param nowUs the time
     * @return whether it may be sent
     */
    public boolean take(long nowUs) {
        return budget.take(nowUs);
    }

    /**
     * A call was answered.
     *
     * @param latencyUs after which time
     * @param nowUs the time
     */
    public void answered(long latencyUs, long nowUs) {
        if (nowUs >= windowEndUs) {
            boolean paused = nowUs >= windowEndUs + settings.windowUs;
            int[] oldest = countsBefore;
            countsBefore = counts;
            countBefore = count;
            counts = oldest;
            Arrays.fill(counts, 0);
            count = 0;
            if (paused) {
                Arrays.fill(countsBefore, 0);
                countBefore = 0;
            }
            windowEndUs = nowUs + settings.windowUs;
            compute();
        }
        counts[bucket(latencyUs)]++;
        count++;
        staleIn = Math.max(staleIn - 1, 0);
        if (staleIn == 0) {
            compute();
        }
    }

    private void compute() {
        long all = count + countBefore;
        if (all < settings.samplesMin) {
            waitUs = NEVER;
            staleIn = settings.samplesMin - all;
            return;
        }
        staleIn = STALE_AFTER;
        long rank = (long) Math.ceil(all * settings.percentile);
        int bucket = 0;
        long seen = 0;
        for (; bucket < BUCKETS - 1; bucket++) {
            seen += counts[bucket] + countsBefore[bucket];
            if (seen >= rank) {
                break;
            }
        }
        long scaled = (long) (ceiling(bucket) * settings.factor);
        waitUs = Math.max(scaled, settings.waitMinUs);
    }

    private static int bucket(long latencyUs) {
        long latency = Math.max(latencyUs, 8);
        int power = 63 - Long.numberOfLeadingZeros(latency);
        return Math.min((power - 3) * 8 + (int) (latency >>> power - 3) - 8, BUCKETS - 1);
    }

    private static long ceiling(int bucket) {
        return ((bucket % 8 + 9L) << bucket / 8) - 1;
    }
}
