package io.stadium.rpc.balance;

import java.util.Arrays;

/**
 * Where a call goes: the better of two for most, rendezvous for keys, probes for instances on
 * probation.
 *
 * <p>The lists to draw from are kept until a change or a time makes them stale. A choice then costs
 * two random numbers and two costs, and allocates nothing.
 */
final class Chooser {
    /** How good an instance is to choose; the first is the best. */
    private enum Tier {
        READY(Why.LOWER_COST),
        UNCONNECTED(Why.NOT_CONNECTED),
        BUSY(Why.ALL_BUSY),
        OUTSIDE(Why.OUTSIDE_SUBSET),
        DOUBTFUL(Why.PANIC);

        final Why why;

        Tier(Why why) {
            this.why = why;
        }
    }

    /** How long a guess of a latency holds. */
    private static final long GUESS_HOLDS_US = 1_000_000;

    private static final int[] NONE = {};

    private final Table table;
    private final BalanceSettings settings;

    /** Until when the lists hold; 0 when something has changed. */
    private long freshUntilUs;

    private Tier tier = Tier.DOUBTFUL;
    private int[] pick = NONE;
    private int pickCount;
    private int[] probes = NONE;
    private int probeCount;

    /** The latency that an instance without an observation is thought to have. */
    private double guessUs;

    private double[] latencies = {};

    /** Where the next turn of round robin begins. */
    private int turn;

    Chooser(Table table) {
        this.table = table;
        settings = table.settings;
    }

    /** The lists are out of date. */
    void spoil() {
        freshUntilUs = 0;
    }

    /** Draws for a call, and remembers the turn of round robin. */
    void choose(long nowUs, int[] exclude, int excluded, RandomNumbers random, Draw draw) {
        if (nowUs >= freshUntilUs) {
            prepare(nowUs);
        }
        if (settings.policy == BalanceSettings.Policy.ROUND_ROBIN) {
            nextInTurn(nowUs, exclude, excluded, draw);
        } else {
            draw(nowUs, exclude, excluded, random, draw);
        }
        if (draw.slot >= 0) {
            turn = draw.slot + 1;
        }
    }

    /** Draws as {@link #choose} does, for an explanation: only the lists are made anew. */
    void peek(long nowUs, RandomNumbers random, Draw draw) {
        int before = turn;
        choose(nowUs, NONE, 0, random, draw);
        turn = before;
        if (draw.first >= 0 && draw.second < 0) {
            draw.firstCost = cost(draw.first, nowUs);
        }
    }

    private void draw(long nowUs, int[] exclude, int excluded, RandomNumbers random, Draw draw) {
        if (excluded > 0) {
            drawElsewhere(nowUs, exclude, excluded, random, draw);
        } else if (probeCount > 0) {
            // Only a first attempt is a probe.
            draw.of(probes[0], Why.PROBE);
        } else if (pickCount == 0) {
            draw.none();
        } else if (pickCount == 1) {
            settle(nowUs, pick[0], -1, tier, draw);
        } else {
            int first = random.below(pickCount);
            int second = random.below(pickCount - 1);
            settle(nowUs, pick[first], pick[second >= first ? second + 1 : second], tier, draw);
        }
    }

    /** The cheaper of two candidates; the cost of a single one is not needed. */
    private void settle(long nowUs, int first, int second, Tier from, Draw draw) {
        draw.first = first;
        draw.second = second;
        draw.slot = first;
        if (second < 0) {
            draw.why = from == Tier.READY ? Why.ONLY_ONE : from.why;
            return;
        }
        draw.why = from.why;
        draw.firstCost = cost(first, nowUs);
        draw.secondCost = cost(second, nowUs);
        if (draw.secondCost < draw.firstCost) {
            draw.slot = second;
        }
    }

    private double cost(int slot, long nowUs) {
        Instance one = table.slots[slot];
        double latency = one.latency.isEmpty() ? guessUs : one.latency.at(nowUs);
        return latency * (one.inflight + 1.0) * one.costFactor;
    }

    /** Two candidates without those excluded, drawn in one pass over the best tier. */
    private void drawElsewhere(
            long nowUs, int[] exclude, int excluded, RandomNumbers random, Draw draw) {
        Tier best = null;
        int seen = 0;
        int first = -1;
        int second = -1;
        for (int slot = 0; slot < table.length; slot++) {
            Instance one = table.slots[slot];
            if (one == null || isExcluded(one, exclude, excluded)) {
                continue;
            }
            Tier its = tier(one, nowUs);
            if (its == null) {
                continue;
            }
            if (best == null || its.compareTo(best) < 0) {
                best = its;
                seen = 0;
            }
            if (its != best) {
                continue;
            }
            // Reservoir sampling: each pair is as likely as any other.
            seen++;
            int place = seen <= 2 ? seen - 1 : random.below(seen);
            if (place == 0) {
                first = slot;
            } else if (place == 1) {
                second = slot;
            }
        }
        if (best == null) {
            draw.none();
        } else {
            settle(nowUs, first, seen > 1 ? second : -1, best, draw);
        }
    }

    private void nextInTurn(long nowUs, int[] exclude, int excluded, Draw draw) {
        int worthConnecting = -1;
        for (int step = 0; step < table.length; step++) {
            int slot = (turn + step) % table.length;
            Instance one = table.slots[slot];
            if (one == null || one.isQuiescing() || isExcluded(one, exclude, excluded)) {
                continue;
            }
            if (one.isConnected()) {
                draw.of(slot, Why.ROUND_ROBIN);
                return;
            }
            if (worthConnecting < 0 && one.isReachable(nowUs)) {
                worthConnecting = slot;
            }
        }
        if (worthConnecting < 0) {
            draw.none();
        } else {
            draw.of(worthConnecting, Why.NOT_CONNECTED);
        }
    }

    static boolean isExcluded(Instance one, int[] exclude, int excluded) {
        for (int nth = 0; nth < excluded; nth++) {
            if (exclude[nth] == one.id) {
                return true;
            }
        }
        return false;
    }

    /** The tier of an instance; {@code null} where it must not be chosen. */
    private static Tier tier(Instance one, long nowUs) {
        if (one.isQuiescing() || !one.isReachable(nowUs)) {
            return null;
        }
        if (!one.isServing(nowUs)) {
            return Tier.DOUBTFUL;
        }
        if (!one.isInSubset) {
            return Tier.OUTSIDE;
        }
        if (!one.isConnected()) {
            return Tier.UNCONNECTED;
        }
        return nowUs < one.busyUntilUs ? Tier.BUSY : Tier.READY;
    }

    private void prepare(long nowUs) {
        if (pick.length < table.length) {
            pick = new int[table.length];
            probes = new int[table.length];
            latencies = new double[table.length];
        }
        clear();
        freshUntilUs = Long.MAX_VALUE;
        for (int rank = 0; rank < table.subsetSize; rank++) {
            sortIn(table.subset[rank], nowUs);
        }
        if (pickCount == 0 || tier.compareTo(Tier.BUSY) > 0) {
            clear();
            for (int slot = 0; slot < table.length; slot++) {
                sortIn(slot, nowUs);
            }
        }
        guessLatency(nowUs);
    }

    private void clear() {
        tier = Tier.DOUBTFUL;
        pickCount = 0;
        probeCount = 0;
    }

    private void sortIn(int slot, long nowUs) {
        Instance one = table.slots[slot];
        if (one == null) {
            return;
        }
        freshUntilUs = Math.min(freshUntilUs, Math.min(changesAtUs(one, nowUs),
                one.busyUntilUs > nowUs ? one.busyUntilUs : Long.MAX_VALUE));
        Tier its = tier(one, nowUs);
        if (its == null) {
            return;
        }
        if (its.compareTo(tier) < 0) {
            tier = its;
            pickCount = 0;
        }
        if (its == tier) {
            pick[pickCount++] = slot;
        }
        if (one.wantsProbe(nowUs) && one.isConnected()) {
            probes[probeCount++] = slot;
        }
    }

    /** When the end of an ejection or of a wait changes an instance by itself, BUSY aside. */
    static long changesAtUs(Instance one, long nowUs) {
        long atUs = Long.MAX_VALUE;
        if (one.health.standing(nowUs) == Health.Standing.EJECTED) {
            atUs = one.health.ejectedUntilUs();
        }
        if (one.isLost() && one.retryAtUs > nowUs) {
            atUs = Math.min(atUs, one.retryAtUs);
        }
        return atUs;
    }

    /** An instance of which nothing is known is thought to be like most. */
    private void guessLatency(long nowUs) {
        guessUs = settings.latencyDefaultUs;
        int count = 0;
        for (int nth = 0; nth < pickCount; nth++) {
            PeakEwma latency = table.slots[pick[nth]].latency;
            if (!latency.isEmpty()) {
                latencies[count++] = latency.at(nowUs);
            }
        }
        if (count > 0 && count < pickCount) {
            Arrays.sort(latencies, 0, count);
            guessUs = latencies[count / 2];
            freshUntilUs = Math.min(freshUntilUs, nowUs + GUESS_HOLDS_US);
        }
    }
}
