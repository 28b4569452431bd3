package io.stadium.rpc.admission;

/**
 * How many calls may be under way at once: a limit that follows the measured latency.
 *
 * <p>The baseline is the latency without queueing. It rises only on evidence from calls that did
 * not queue: while the callers leave half of the limit unused, or in a probe at half the limit. The
 * limiter begins with a slow start: a limit that is reached doubles as long as latency stays flat.
 * docs/rpc-guards.md, Limit, specifies each step.
 *
 * <p>Instances are not thread-safe, and no call allocates.
 */
public final class Limiter {
    /**
     * What a limiter is built from.
     *
     * @param initial the limit before anything was measured, in calls
     * @param min the lowest limit, in calls; less than 1 counts as 1
     * @param max the highest limit, in calls; less than {@code min} counts as {@code min}
     * @param tolerance how much slower than the baseline counts as usual
     * @param smoothing how much of a new limit is taken over at once
     * @param windowUs how long a window lasts at least, in microseconds
     * @param windowCallsMin how many calls a window measures at least
     * @param latencyFloorUs a latency that nobody minds, in microseconds
     * @param probeEveryUs how long a baseline stands unconfirmed before it is probed, in
     *     microseconds
     */
    public record Settings(
            int initial,
            int min,
            int max,
            double tolerance,
            double smoothing,
            long windowUs,
            int windowCallsMin,
            long latencyFloorUs,
            long probeEveryUs) {
        /** The defaults of docs/rpc-guards.md. */
        public static final Settings DEFAULT =
                new Settings(20, 4, 10_000, 1.1, 0.2, 100_000, 32, 500, 10_000_000);

        /**
         * The same settings with other bounds.
         *
         * @param initial the limit before anything was measured
         * @param min the lowest limit
         * @param max the highest limit
         * @return other settings
         */
        public Settings between(int initial, int min, int max) {
            return new Settings(
                    initial, min, max, tolerance, smoothing, windowUs, windowCallsMin,
                    latencyFloorUs, probeEveryUs);
        }
    }

    /** What a call that leaves says about latency. */
    public enum Work {
        /** It was worked on until now, also where its deadline passed: its time counts. */
        DONE,
        /** It was cancelled or refused before its work was done: its time has no meaning. */
        ABANDONED
    }

    /** Calls that a probe measures. */
    private static final int PROBE_CALLS = 64;

    /** Windows after which a window or a probe without use for a limit is given up. */
    private static final int PATIENCE_WINDOWS = 10;

    private static final long NONE = -1;

    private final Settings settings;
    private final double lowest;
    private final double highest;
    private double limit;

    /** The limit's whole part, halved during a probe. */
    private int inForce;

    private int inflight;

    /** Latency without queueing in microseconds; 0 before the first window. */
    private double baseline;

    /** Mean latency of the last window, in microseconds. */
    private double latencyLast;

    /** When the window began; 0 before its first call. */
    private long windowSince;

    private long windowSum;
    private int windowCalls;
    private int windowMost;

    /** When the probe begins to measure, or {@link #NONE}. */
    private long probe = NONE;

    private long confirmedAt;
    private double confirmedLimit;
    private boolean isStarting = true;

    /** In a slow start, the limit before it last doubled. */
    private double before;

    /** Only calls are measured that began after this. */
    private long begunAfter;

    /**
     * Creates a limiter that has measured nothing.
     *
     * @param settings its settings
     */
    public Limiter(Settings settings) {
        this.settings = settings;
        lowest = Math.max(settings.min, 1);
        highest = Math.max(settings.max, lowest);
        limit = bounded(settings.initial);
        inForce = (int) limit;
        confirmedLimit = limit;
        before = limit;
    }

    /**
     * Lets a call in, which leaves with {@link #left}.
     *
     * @param now microseconds
     * @return whether it may begin; if not, as many calls as may be are under way
     */
    public boolean tryEnter(long now) {
        if (inflight >= inForce) {
            windowMost = Math.max(windowMost, inflight);
            return false;
        }
        inflight++;
        return true;
    }

    /**
     * A call that was let in leaves.
     *
     * @param enteredAt when it was let in, in microseconds
     * @param work whether its time counts
     * @param now microseconds
     */
    public void left(long enteredAt, Work work, long now) {
        int most = inflight;
        inflight = Math.max(inflight - 1, 0);
        if (work == Work.DONE) {
            sample(Math.max(now - enteredAt, 0), most, now);
        }
    }

    /**
     * A call took its time.
     *
     * @param latency microseconds
     * @param underWay calls that were under way with it
     * @param now microseconds
     */
    public void sample(long latency, int underWay, long now) {
        if (probe != NONE && now < probe || Math.max(now - latency, 0) < begunAfter) {
            return;
        }
        if (windowSince == 0) {
            windowSince = now;
        }
        windowSum += latency;
        windowCalls++;
        windowMost = Math.max(windowMost, underWay);
        if (probe != NONE) {
            long lasted = now - probe;
            if (windowCalls >= PROBE_CALLS && lasted >= latencyLast) {
                endProbe(now);
            } else if (lasted >= PATIENCE_WINDOWS * settings.windowUs && !isInUse()) {
                resume(now);
            }
        } else if (now - windowSince >= windowLength()) {
            endWindow(now);
        }
    }

    /**
     * The limit.
     *
     * @return calls that may be under way now
     */
    public int limit() {
        return inForce;
    }

    /**
     * Calls that were let in and have not left.
     *
     * @return calls
     */
    public int inflight() {
        return inflight;
    }

    /**
     * What the limit allows at the baseline latency.
     *
     * @return calls each second; NaN before anything was measured
     */
    public double capacityPerSecond() {
        return baseline > 0 ? limit * 1_000_000 / baseline : Double.NaN;
    }

    /** Whether the callers have used half of the limit. */
    private boolean isInUse() {
        return windowMost * 2L >= inForce;
    }

    private long windowLength() {
        if (!isStarting) {
            return settings.windowUs;
        }
        long mean = windowSum / Math.max(windowCalls, 1);
        return Math.min(
                Math.max(mean, settings.windowUs / 4), PATIENCE_WINDOWS * settings.windowUs);
    }

    private void endWindow(long now) {
        long lasted = Math.max(now - windowSince, 1);
        int calls = windowCalls;
        boolean isUsed = isInUse();
        if (calls < settings.windowCallsMin) {
            if (lasted >= PATIENCE_WINDOWS * settings.windowUs && !isUsed) {
                emptyWindow(now);
            }
            return;
        }
        double latency = Math.max((double) windowSum / calls, 0.1);
        int most = windowMost;
        emptyWindow(now);
        latencyLast = latency;
        if (baseline == 0) {
            baseline = latency;
            confirm(now);
        }
        if (!isUsed) {
            baseline += (latency - baseline) * 0.2;
            confirm(now);
            return;
        }
        if (latency < baseline * (1 - 2.5 / Math.sqrt(calls))) {
            baseline += (latency - baseline) * 0.2;
        }
        double floor = settings.latencyFloorUs;
        double usual = settings.tolerance * Math.max(baseline, floor);
        if (isStarting) {
            if (Math.max(latency, floor) > usual * (1 + 2 / Math.sqrt(calls))) {
                isStarting = false;
                setLimit(before, now);
            } else if (most >= inForce) {
                before = limit;
                setLimit(limit * 2, now);
            }
            return;
        }
        double gradient = Math.min(Math.max(usual / Math.max(latency, floor), 0.5), 1);
        double wanted = limit * gradient + Math.sqrt(limit);
        limit = bounded(limit + (wanted - limit) * settings.smoothing);
        inForce = (int) limit;
        long unconfirmed = Math.max(now - confirmedAt, 0);
        boolean isDoubtful = gradient <= 0.75
                && limit < confirmedLimit * 0.5
                && unconfirmed >= settings.probeEveryUs / 10;
        if (isDoubtful || unconfirmed >= settings.probeEveryUs) {
            probe = now + (long) (latency * 3);
            inForce = Math.max(inForce / 2, (int) lowest);
        }
    }

    private void setLimit(double wanted, long now) {
        limit = bounded(wanted);
        inForce = (int) limit;
        emptyWindow(0);
        begunAfter = now;
        confirm(now);
    }

    private void endProbe(long now) {
        double measured = Math.max((double) windowSum / windowCalls, 0.1);
        double ratio = measured / baseline;
        double weight = ratio >= 0.67 && ratio < 1.5 ? 0.5 : 1;
        baseline += (measured - baseline) * weight;
        resume(now);
    }

    private void resume(long now) {
        probe = NONE;
        inForce = (int) limit;
        emptyWindow(now);
        confirm(now);
    }

    private void confirm(long now) {
        confirmedAt = now;
        confirmedLimit = limit;
    }

    private void emptyWindow(long since) {
        windowSince = since;
        windowSum = 0;
        windowCalls = 0;
        windowMost = 0;
    }

    private double bounded(double value) {
        return Math.min(Math.max(value, lowest), highest);
    }
}
