package io.stadium.rpc.server;

import java.util.concurrent.atomic.AtomicLongArray;

/**
 * What one event loop has counted. The loop alone writes, any thread reads: a reader sees each
 * count as of some moment ago.
 */
final class Counts {
    private static final int OUTCOMES = Outcome.values().length;

    /** Buckets of latencies: four to each power of two. */
    private static final int BUCKETS = 128;

    private static final int EACH = OUTCOMES + BUCKETS;

    /** Figures of the loop, not of a method. */
    enum Figure {
        CONNECTIONS, INFLIGHT, QUEUED, STREAMS, LIMIT, LOAD_THOUSANDTHS, CUT_UNFINISHED, CUT_SLOW
    }

    private final AtomicLongArray methods;
    private final AtomicLongArray figures = new AtomicLongArray(Figure.values().length);

    Counts(int routes) {
        methods = new AtomicLongArray(routes * EACH);
    }

    void count(Route route, Outcome outcome) {
        add(methods, route.index * EACH + outcome.ordinal(), 1);
    }

    void latency(Route route, long micros, int calls) {
        add(methods, route.index * EACH + OUTCOMES + bucket(micros), calls);
    }

    long count(int route, Outcome outcome) {
        return methods.getOpaque(route * EACH + outcome.ordinal());
    }

    void set(Figure figure, long value) {
        figures.setOpaque(figure.ordinal(), value);
    }

    void add(Figure figure, long value) {
        add(figures, figure.ordinal(), value);
    }

    long figure(Figure figure) {
        return figures.getOpaque(figure.ordinal());
    }

    private static void add(AtomicLongArray array, int index, long value) {
        array.setOpaque(index, array.getPlain(index) + value);
    }

    private static int bucket(long micros) {
        if (micros < 4) {
            return (int) Math.max(micros, 0);
        }
        int power = 63 - Long.numberOfLeadingZeros(micros);
        int quarter = (int) (micros >>> (power - 2)) & 3;
        return Math.min((power - 1) * 4 + quarter, BUCKETS - 1);
    }

    /** The upper end of a bucket, in microseconds. */
    private static long endOf(int bucket) {
        if (bucket < 4) {
            return bucket;
        }
        int power = bucket / 4 + 1;
        return ((5L + bucket % 4) << (power - 2)) - 1;
    }

    /** The latency below which a share of a route's calls lies, in microseconds, over all loops. */
    static long quantile(Iterable<Counts> loops, int route, double share) {
        long[] sum = new long[BUCKETS];
        long total = 0;
        for (Counts counts : loops) {
            for (int bucket = 0; bucket < BUCKETS; bucket++) {
                long calls = counts.methods.getOpaque(route * EACH + OUTCOMES + bucket);
                sum[bucket] += calls;
                total += calls;
            }
        }
        double wanted = Math.max(Math.ceil(total * share), 1);
        long seen = 0;
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            seen += sum[bucket];
            if (seen >= wanted) {
                return endOf(bucket);
            }
        }
        return 0;
    }
}
