package io.stadium.rpc.client;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;

/** A bounded queue from any thread to one: calls on their way to an event loop. */
final class Mailbox {
    private final AtomicReferenceArray<Call> places;
    private final int mask;

    /** The next place to fill. */
    private final AtomicLong tail = new AtomicLong();

    /** The next place to empty; only the owner writes it. */
    private final AtomicLong head = new AtomicLong();

    /** A tail that is known to have room, so that most offers do not look at the head. */
    private volatile long limit;

    /**
     * Creates a queue.
     *
     * @param capacity a power of two
     */
    Mailbox(int capacity) {
        places = new AtomicReferenceArray<>(capacity);
        mask = capacity - 1;
        limit = capacity;
    }

    /** Adds a call, from any thread. Returns whether there was room. */
    boolean offer(Call call) {
        long place;
        do {
            place = tail.get();
            if (place >= limit) {
                long free = head.get() + mask + 1;
                if (place >= free) {
                    return false;
                }
                limit = free;
            }
        } while (!tail.compareAndSet(place, place + 1));
        places.setRelease((int) place & mask, call);
        return true;
    }

    /** Takes the oldest call, on the owner's thread; {@code null} where there is none. */
    Call poll() {
        long place = head.getPlain();
        int at = (int) place & mask;
        Call call = places.getAcquire(at);
        while (call == null) {
            if (tail.get() == place) {
                return null;
            }
            // Another thread has the place and is about to fill it.
            Thread.onSpinWait();
            call = places.getAcquire(at);
        }
        places.setPlain(at, null);
        head.setRelease(place + 1);
        return call;
    }

    boolean isEmpty() {
        return tail.get() == head.get();
    }
}
