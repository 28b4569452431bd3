package io.stadium.rpc.balance;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The instances of one service in slots, by address, and the subset of them. */
final class Table {
    /**
     * Instances of a service: four times the largest fleet that one client is meant to see. Further
     * ones are left out.
     */
    static final int INSTANCES_MAX = 4_096;

    final BalanceSettings settings;

    /** {@code null} in a free slot. */
    Instance[] slots = new Instance[8];

    /** Slots that have been used. */
    int length;

    /** The slots of the subset in the order of their ranks. */
    int[] subset = new int[8];

    int subsetSize;
    private int[] generations = new int[8];
    private final Map<String, Instance> byAddress = new HashMap<>();
    private int[] free = new int[8];
    private int freeCount;
    private long updates;

    Table(BalanceSettings settings) {
        this.settings = settings;
    }

    /** The instance of an id, or {@code null} where it has gone. */
    Instance find(int id) {
        int slot = id & 0xffff;
        Instance instance = slot < length ? slots[slot] : null;
        return instance != null && instance.id == id ? instance : null;
    }

    Instance find(String address) {
        return byAddress.get(address);
    }

    int size() {
        return byAddress.size();
    }

    /** Takes over discovery's list; the subset is chosen anew by the caller. */
    Updated update(List<Known> known) {
        updates++;
        int added = 0;
        int removed = 0;
        int leftOut = 0;
        for (Known one : known) {
            Instance instance = byAddress.get(one.address());
            if (instance != null) {
                instance.apply(one);
                instance.namedIn = updates;
                continue;
            }
            int slot = takeSlot();
            if (slot < 0) {
                leftOut++;
                continue;
            }
            instance = new Instance(slot, generations[slot] << 16 | slot, one, settings);
            instance.namedIn = updates;
            byAddress.put(instance.address, instance);
            slots[slot] = instance;
            added++;
        }
        for (int slot = 0; slot < length; slot++) {
            Instance instance = slots[slot];
            if (instance != null && instance.namedIn != updates) {
                slots[slot] = null;
                generations[slot] = generations[slot] + 1 & 0xffff;
                byAddress.remove(instance.address);
                if (freeCount == free.length) {
                    free = Arrays.copyOf(free, freeCount * 2);
                }
                free[freeCount++] = slot;
                removed++;
            }
        }
        return new Updated(added, removed, leftOut);
    }

    private int takeSlot() {
        if (freeCount > 0) {
            return free[--freeCount];
        }
        if (length >= INSTANCES_MAX) {
            return -1;
        }
        if (length == slots.length) {
            slots = Arrays.copyOf(slots, length * 2);
            generations = Arrays.copyOf(generations, length * 2);
        }
        return length++;
    }

    /**
     * Chooses the subset: the instances with the best ranks for this client. A lost instance stays
     * a member, to be connected again, and the next in rank stands in for it.
     */
    void chooseSubset() {
        boolean isZoned = isZoneInUse();
        Instance[] ranked = new Instance[length];
        double[] scores = new double[length];
        int count = 0;
        for (int slot = 0; slot < length; slot++) {
            Instance one = slots[slot];
            if (one != null && !one.isQuiescing()
                    && (!isZoned || one.zone.equals(settings.zone))) {
                scores[slot] = one.score(settings.client);
                ranked[count++] = one;
            }
        }
        Arrays.sort(ranked, 0, count, (a, b) -> {
            int byScore = Double.compare(scores[a.slot], scores[b.slot]);
            return byScore != 0 ? byScore : Integer.compare(a.slot, b.slot);
        });
        int placesLeft = Math.max(settings.subsetSize, 1);
        int lostLeft = placesLeft;
        if (subset.length < count) {
            subset = new int[count];
        }
        for (int slot = 0; slot < length; slot++) {
            if (slots[slot] != null) {
                slots[slot].isInSubset = false;
            }
        }
        subsetSize = 0;
        for (int rank = 0; rank < count && placesLeft > 0; rank++) {
            Instance one = ranked[rank];
            if (one.isLost()) {
                if (lostLeft == 0) {
                    continue;
                }
                lostLeft--;
            } else {
                placesLeft--;
            }
            one.isInSubset = true;
            subset[subsetSize++] = one.slot;
        }
    }

    /** Whether this client's zone has enough instances that work. */
    private boolean isZoneInUse() {
        if (settings.zone.isEmpty()) {
            return false;
        }
        int working = 0;
        for (int slot = 0; slot < length; slot++) {
            Instance one = slots[slot];
            if (one != null && one.zone.equals(settings.zone) && !one.isQuiescing()
                    && !one.isLost()) {
                working++;
            }
        }
        return working >= Math.max(settings.zoneInstancesMin, 1);
    }
}
