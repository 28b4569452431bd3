package io.stadium.examples.geo;

import geo.v1.GeoEvent;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * The last location of each device, in memory, and the watchers of changes.
 *
 * <p>A watcher keeps only the number of the last change that it has seen: one that is slower than
 * the events gets the newest event of each device, and costs no memory.
 */
final class Places {
    /** The outcome of an event. */
    enum Stored {
        /** It is the last location now. */
        KEPT,
        /** The device was seen later than that: nothing changed. */
        OLDER,
        /** The device is new, and there is no room for new ones. */
        FULL
    }

    /**
     * Where a device was seen last.
     *
     * @param number counts the changes of all devices
     */
    record Change(long number, GeoEvent event, Position position) {}

    private final int devicesMax;
    private final Map<String, Change> devices = new ConcurrentHashMap<>();
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    /** The same devices by their last change. This and what follows needs the lock. */
    private final TreeMap<Long, Change> changes = new TreeMap<>();

    private long lastChange;
    private boolean isClosed;

    Places(int devicesMax) {
        this.devicesMax = devicesMax;
    }

    /** Keeps an event unless a later one is known. */
    Stored store(GeoEvent event, Position position) {
        lock.lock();
        try {
            Change known = devices.get(event.getDeviceId());
            if (known == null && devices.size() >= devicesMax) {
                return Stored.FULL;
            }
            if (known != null) {
                if (Long.compareUnsigned(event.getTimestampMs(), known.event.getTimestampMs()) < 0) {
                    return Stored.OLDER;
                }
                if (known.event.equals(event)) {
                    return Stored.KEPT;
                }
                changes.remove(known.number);
            }
            Change change = new Change(++lastChange, event, position);
            devices.put(event.getDeviceId(), change);
            changes.put(change.number, change);
            changed.signalAll();
            return Stored.KEPT;
        } finally {
            lock.unlock();
        }
    }

    /** The last event of a device, or {@code null}. */
    GeoEvent last(String device) {
        Change known = devices.get(device);
        return known == null ? null : known.event;
    }

    /** The devices in a circle. */
    Stream<GeoEvent> near(Position centre, double radiusM) {
        return devices.values().stream()
                .filter(known -> known.position.distanceM(centre) <= radiusM)
                .map(Change::event);
    }

    /** The number of the last change of all. */
    long lastChange() {
        lock.lock();
        try {
            return lastChange;
        } finally {
            lock.unlock();
        }
    }

    /**
     * The oldest changes after one, at most so many. It waits until there is one, and returns none
     * when the instance leaves or the watch is over.
     */
    List<Change> newer(long than, int atMost, BooleanSupplier isOver) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            while (!isClosed && !isOver.getAsBoolean()) {
                if (lastChange > than) {
                    return changes.tailMap(than, false).values().stream().limit(atMost).toList();
                }
                changed.await();
            }
            return List.of();
        } finally {
            lock.unlock();
        }
    }

    /** Has watches look whether they are over. */
    void wake() {
        lock.lock();
        try {
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Ends all watches, those that begin later too: the instance leaves. */
    void close() {
        lock.lock();
        try {
            isClosed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
