package io.stadium.rpc.balance;

import java.util.Arrays;

/** Which instance owns a key: rendezvous hashing over those that may own keys now. */
final class Owners {
    private static final int PARTITIONS = 1 << 16;

    /** A partition whose owner has not been found; no slot. */
    private static final short UNKNOWN = -1;

    private final Table table;

    /** Until when the nodes hold; 0 when something has changed. */
    private long freshUntilUs;

    private Instance[] nodes = {};
    private double[] weights = {};
    private int count;

    /** The slot that owns each partition; empty until a key is used. */
    private short[] owners = {};

    Owners(Table table) {
        this.table = table;
    }

    /** The nodes are out of date. */
    void spoil() {
        freshUntilUs = 0;
    }

    /** The slot that owns a key, or -1. Without exclusions it is remembered. */
    int owner(long nowUs, long keyHash, int[] exclude, int excluded) {
        if (nowUs >= freshUntilUs) {
            prepare(nowUs);
        }
        int partition = Hashes.partition(keyHash);
        if (excluded > 0) {
            return find(partition, exclude, excluded);
        }
        if (owners[partition] == UNKNOWN) {
            owners[partition] = (short) find(partition, exclude, 0);
        }
        return owners[partition];
    }

    private int find(int partition, int[] exclude, int excluded) {
        int found = -1;
        double best = Double.POSITIVE_INFINITY;
        for (int nth = 0; nth < count; nth++) {
            Instance node = nodes[nth];
            double score = node.scoreBelow(partition, best);
            if (score < best && !Chooser.isExcluded(node, exclude, excluded)) {
                best = score;
                found = node.slot;
            }
        }
        return found;
    }

    private void prepare(long nowUs) {
        Instance[] before = nodes;
        double[] weightsBefore = weights;
        int countBefore = count;
        nodes = new Instance[table.length];
        weights = new double[table.length];
        freshUntilUs = Long.MAX_VALUE;
        collect(nowUs, false);
        if (count == 0) {
            collect(nowUs, true);
        }
        boolean isSame = owners.length > 0
                && Arrays.equals(nodes, 0, count, before, 0, countBefore)
                && Arrays.equals(weights, 0, count, weightsBefore, 0, countBefore);
        if (!isSame) {
            if (owners.length == 0) {
                owners = new short[PARTITIONS];
            }
            Arrays.fill(owners, UNKNOWN);
        }
    }

    /** First the instances that are trusted; if there is none, all that can be reached. */
    private void collect(long nowUs, boolean isPanic) {
        count = 0;
        for (int slot = 0; slot < table.length; slot++) {
            Instance one = table.slots[slot];
            if (one == null || one.isQuiescing()) {
                continue;
            }
            freshUntilUs = Math.min(freshUntilUs, Chooser.changesAtUs(one, nowUs));
            if (one.isReachable(nowUs)
                    && (isPanic || one.isServing(nowUs) || one.wantsProbe(nowUs))) {
                nodes[count] = one;
                weights[count++] = one.inverseWeight;
            }
        }
    }
}
