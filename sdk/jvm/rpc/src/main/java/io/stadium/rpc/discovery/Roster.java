package io.stadium.rpc.discovery;

import io.stadium.rpc.discovery.InstanceValue.State;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * The known instances of one service: which are confirmed, which are in doubt, and until when.
 *
 * <p>An instance is forgotten when it announced that it leaves, or when the backend has been there
 * for a while and does not know it; never because the backend was away. There is no I/O and no
 * clock: times are microseconds of one clock that does not go back. Instances are not thread-safe.
 */
public final class Roster {
    /** Instances of a service, all versions together; further ones are not listed. */
    public static final int INSTANCES_MAX = 10_000;

    /** {@link #nextExpiryUs}: nothing is due. */
    public static final long NEVER = Long.MAX_VALUE;

    /** The news of an event for watchers. */
    public enum Change {
        /** None. */
        NOTHING,
        /** Load factors only: watchers may be notified a little later. */
        LOADS,
        /** Members, or how far to trust the list: watchers are notified at once. */
        MEMBERS
    }

    /** How a list came to be read. */
    public enum After {
        /** The backend was away before, or this is the first list. */
        OUTAGE,
        /** The backend was there all the time. */
        CONTACT
    }

    /** An entry; in doubt until a time, or confirmed. */
    private static final class Entry {
        InstanceValue value;
        long doubtedUntilUs = NEVER;

        boolean isDoubted() {
            return doubtedUntilUs != NEVER;
        }
    }

    private final long settleUs;
    private final long graceUs;
    private final Map<Place, Entry> entries = new TreeMap<>();
    private boolean isHeard;

    /** Why the backend is away; {@code null} while it is there. */
    private String awayWhy;

    /**
     * Creates a roster that knows nothing and waits for the backend.
     *
     * @param sessionTtlUs the time that a registration outlives its process
     * @param why why the backend is not there yet, for people
     */
    public Roster(long sessionTtlUs, String why) {
        settleUs = sessionTtlUs / 2;
        graceUs = sessionTtlUs * 2;
        awayWhy = why;
    }

    /**
     * The backend listed everything it knows.
     *
     * @param found all entries
     * @param after how the list came to be read
     * @param nowUs the time
     * @return the change
     */
    public Change listed(Map<Place, InstanceValue> found, After after, long nowUs) {
        Change change = isHeard && awayWhy == null ? Change.NOTHING : Change.MEMBERS;
        isHeard = true;
        awayWhy = null;
        Set<Place> missing = new HashSet<>(entries.keySet());
        missing.removeAll(found.keySet());
        for (Map.Entry<Place, InstanceValue> one : found.entrySet()) {
            change = max(change, announced(one.getKey(), one.getValue()));
        }
        for (Place place : new TreeMap<>(entries).keySet()) {
            if (missing.contains(place)) {
                change = max(change, after == After.CONTACT
                        ? removed(place, nowUs) : missed(place, nowUs));
            }
        }
        return change;
    }

    /**
     * The backend reports that an instance is there, or its present value.
     *
     * @param place the instance
     * @param value its value
     * @return the change
     */
    public Change announced(Place place, InstanceValue value) {
        Entry entry = entries.get(place);
        if (entry == null) {
            if (entries.size() >= INSTANCES_MAX) {
                return Change.NOTHING;
            }
            entry = new Entry();
            entry.value = value;
            entries.put(place, entry);
            return Change.MEMBERS;
        }
        boolean wasDoubted = entry.isDoubted();
        InstanceValue before = entry.value;
        entry.doubtedUntilUs = NEVER;
        entry.value = value;
        if (wasDoubted) {
            return Change.MEMBERS;
        }
        if (before.equals(value)) {
            return Change.NOTHING;
        }
        InstanceValue sameLoad =
                new InstanceValue(before.load(), value.zone(), value.weight(), value.state());
        return sameLoad.equals(before) ? Change.LOADS : Change.MEMBERS;
    }

    /**
     * The backend reports that an entry was removed.
     *
     * @param place the instance
     * @param nowUs the time
     * @return the change
     */
    public Change removed(Place place, long nowUs) {
        Entry entry = entries.get(place);
        if (entry == null) {
            return Change.NOTHING;
        }
        if (entry.value.state() == State.QUIESCING) {
            return forget(place);
        }
        boolean isNews = !entry.isDoubted();
        if (isNews) {
            entry.doubtedUntilUs = nowUs + settleUs;
        }
        List<Entry> ofVersion = new ArrayList<>();
        entries.forEach((other, its) -> {
            if (other.version().equals(place.version())) {
                ofVersion.add(its);
            }
        });
        if (ofVersion.stream().allMatch(Entry::isDoubted)) {
            // More likely they lost the backend than that all of them died at once.
            ofVersion.forEach(its ->
                    its.doubtedUntilUs = Math.max(its.doubtedUntilUs, nowUs + graceUs));
        }
        return isNews ? Change.MEMBERS : Change.NOTHING;
    }

    /** An entry is not in the first list after an outage. */
    private Change missed(Place place, long nowUs) {
        Entry entry = entries.get(place);
        if (entry.value.state() == State.QUIESCING) {
            return forget(place);
        }
        entry.doubtedUntilUs = nowUs + graceUs;
        return Change.MEMBERS;
    }

    private Change forget(Place place) {
        entries.remove(place);
        return Change.MEMBERS;
    }

    /**
     * The backend is away: nothing is forgotten until the next list.
     *
     * @param why why, for people
     * @return the change
     */
    public Change lost(String why) {
        boolean wasThere = awayWhy == null;
        awayWhy = why;
        return wasThere ? Change.MEMBERS : Change.NOTHING;
    }

    /**
     * When {@link #expire} has something to do.
     *
     * @return the time, or {@link #NEVER}
     */
    public long nextExpiryUs() {
        return awayWhy != null ? NEVER : entries.values().stream()
                .mapToLong(entry -> entry.doubtedUntilUs).min().orElse(NEVER);
    }

    /**
     * Forgets the entries whose doubt has ended.
     *
     * @param nowUs the time
     * @return the change
     */
    public Change expire(long nowUs) {
        return awayWhy == null && entries.values().removeIf(entry -> entry.doubtedUntilUs <= nowUs)
                ? Change.MEMBERS : Change.NOTHING;
    }

    /**
     * The list for a watcher.
     *
     * @param version the version that it wants, or {@code null} for any
     * @return the list; stale while the backend is away and while an entry in it is in doubt
     */
    public Instances snapshot(String version) {
        List<Instance> instances = new ArrayList<>();
        int doubted = 0;
        for (Map.Entry<Place, Entry> one : entries.entrySet()) {
            Place place = one.getKey();
            if (version == null || version.equals(place.version())) {
                instances.add(
                        new Instance(place.address(), place.version(), one.getValue().value));
                doubted += one.getValue().isDoubted() ? 1 : 0;
            }
        }
        String freshness = awayWhy != null ? "stale: " + awayWhy
                : doubted > 0 ? "stale: " + doubted + " of " + instances.size()
                        + " have not registered again"
                : "live";
        return new Instances(instances, isHeard, awayWhy == null && doubted == 0, freshness);
    }

    private static Change max(Change a, Change b) {
        return a.compareTo(b) >= 0 ? a : b;
    }
}
