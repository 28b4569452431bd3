package io.stadium.memcache.driver;

import io.stadium.memcache.Disconnected;
import io.stadium.memcache.MemcacheException;
import io.stadium.memcache.ProtocolError;
import io.stadium.memcache.protocol.Operation;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;

/**
 * Turns of a connection: a caller that waits writes and reads for all callers.
 *
 * <p>{@code isTurning} admits one reader and {@code isWriting} one writer. While the reader sleeps
 * in the socket, the others write themselves.
 */
class Driver {
    /** Bytes of writes that leave with the next gets. */
    private static final int WRITES_BYTES = 6 << 10;

    /** Delay of a write at most, while it waits for others to leave with it. */
    static final long WRITES_DELAY = TimeUnit.MILLISECONDS.toNanos(1);

    /** Yields before a write at most, while each brings reads of other callers. */
    private static final int YIELDS_MAX = 2;

    /** A yield that took longer gave the core to another program. */
    private static final long YIELD_LONG = TimeUnit.MILLISECONDS.toNanos(1);

    /** Turns without a yield after such a one; twice as many after each that follows. */
    private static final int TURNS_TO_SKIP_MIN = 16;
    private static final int TURNS_TO_SKIP_MAX = 1_024;

    /** Pauses of the processor between two reads of the socket: about a microsecond. */
    private static final int SPINS = 30;

    final Settings settings;
    final State state;
    /** There are reads or forced writes to send. */
    volatile boolean hasWork;
    /** Owned by the thread that turns. */
    private int turnsWithoutYield;
    private int turnsToSkip = TURNS_TO_SKIP_MIN;
    /** Reads that were submitted, modulo 2^32. Written under the lock. */
    volatile int reads;

    Driver(Settings settings) {
        this.settings = settings;
        state = new State(settings.valueBytesMax(), System.nanoTime());
    }

    /** Writes until nothing that is due is left, or the socket takes no more. Needs the lock. */
    void flush(boolean withWrites) {
        Wire wire = state.wire;
        if (wire == null || state.isWriting) {
            return;
        }
        state.isWriting = true;
        boolean isDue = withWrites;
        while (true) {
            long now = System.nanoTime();
            isDue |= state.outbox.writeBytes() >= WRITES_BYTES
                    || state.outbox.isWriteDue(now, WRITES_DELAY);
            state.seal(now, isDue);
            isDue = false;
            wire.fill(state.outbox);
            int before = wire.unwritten();
            if (before == 0) {
                break;
            }
            boolean isWritten = false;
            IOException failure = null;
            state.lock.unlock();
            try {
                isWritten = wire.write();
            } catch (IOException error) {
                failure = error;
            } finally {
                state.lock.lock();
            }
            if (state.wire != wire) {
                break;
            }
            if (failure != null) {
                lose(wire, failure);
                break;
            }
            state.blockedBytes = wire.unwritten();
            if (!isWritten) {
                if (state.blockedBytes < before) {
                    state.progressAt = now;
                }
                break;
            }
        }
        state.isWriting = false;
    }

    /**
     * Reads answers until the caller's own has come, its deadline passed, or the connection ended.
     * {@code isTurning} is set, and is cleared here.
     *
     * @param own the caller's operation; without one, until no operation is driven
     */
    void turn(Wire wire, Operation own, long deadline) {
        try {
            long spin = letOthersSubmit();
            long spinEnd = 0;
            boolean isSpinning = false;
            while (true) {
                if (hasWork) {
                    state.lock.lock();
                    try {
                        hasWork = false;
                        flush(false);
                    } finally {
                        state.lock.unlock();
                    }
                }
                int bytes = wire.read();
                if (bytes < 0) {
                    throw new IOException("the server closed it");
                }
                if (bytes > 0) {
                    if (takeIn(wire, own)) {
                        return;
                    }
                    notifyDone();
                    isSpinning = false;
                    continue;
                }
                long now = System.nanoTime();
                if (!isSpinning) {
                    isSpinning = true;
                    spinEnd = now + spin;
                }
                if (now - spinEnd < 0 && now - deadline < 0) {
                    for (int at = 0; at < SPINS; at++) {
                        Thread.onSpinWait();
                    }
                    continue;
                }
                if (sleep(wire, own, deadline, now)) {
                    return;
                }
            }
        } catch (IOException error) {
            fail(wire, error);
        } catch (ProtocolError error) {
            fail(wire, () -> new ProtocolError(error.violation()), error.getMessage());
        } catch (RuntimeException | Error error) {
            // No caller waits for a connection whose state is unknown.
            fail(wire, new IOException("the client failed: " + error));
            throw error;
        } finally {
            leave();
        }
    }

    /** Hands answers to their operations; {@code true} where the turn is over. */
    private boolean takeIn(Wire wire, Operation own) {
        state.lock.lock();
        try {
            if (state.wire != wire) {
                return true;
            }
            state.progressAt = System.nanoTime();
            wire.takeIn(state.pipeline, state.sink);
            return own == null ? state.driven.isEmpty() : own.isDone();
        } finally {
            state.lock.unlock();
        }
    }

    /** Sleeps until the socket has something; {@code true} where the turn is over. */
    private boolean sleep(Wire wire, Operation own, long deadline, long now) throws IOException {
        boolean isBlocked;
        long stallLeft;
        state.lock.lock();
        try {
            if (now - deadline >= 0 || own != null && own.isDone() || state.wire != wire
                    || Thread.currentThread().isInterrupted()) {
                return true;
            }
            stallLeft = stallLeft(now);
            if (stallLeft <= 0) {
                throw stalled();
            }
            if (hasWork) {
                return false;
            }
            state.isAsleep = true;
            isBlocked = state.blockedBytes > 0;
        } finally {
            state.lock.unlock();
        }
        try {
            wire.transport.await(isBlocked, Math.min(stallLeft, deadline - now));
        } finally {
            state.lock.lock();
            try {
                state.isAsleep = false;
                if (isBlocked) {
                    flush(false);
                }
            } finally {
                state.lock.unlock();
            }
        }
        return false;
    }

    /** The turn is over: those whose answers came are notified, and another caller takes over. */
    private void leave() {
        Thread successor;
        Operation notices;
        state.lock.lock();
        try {
            state.isTurning = false;
            notices = state.takeNotices();
            successor = state.successor();
            if (successor == null && !state.driven.isEmpty()) {
                state.bell.signal();
            }
        } finally {
            state.lock.unlock();
        }
        if (successor != null) {
            LockSupport.unpark(successor);
        }
        notifyAbout(notices);
    }

    /**
     * Yields while other callers submit: their gets leave with ours. Returns the time to spin, which
     * is none while other programs want the core: a yield then costs a slice of theirs, and callers
     * run only while this one sleeps.
     */
    private long letOthersSubmit() {
        if (turnsWithoutYield > 0) {
            turnsWithoutYield--;
            return 0;
        }
        long began = System.nanoTime();
        int before = reads;
        for (int at = 0; at < YIELDS_MAX; at++) {
            Thread.yield();
            int now = reads;
            if (now == before) {
                break;
            }
            before = now;
        }
        if (System.nanoTime() - began > YIELD_LONG) {
            turnsWithoutYield = turnsToSkip;
            turnsToSkip = Math.min(turnsToSkip * 2, TURNS_TO_SKIP_MAX);
        } else {
            turnsToSkip = TURNS_TO_SKIP_MIN;
        }
        return settings.spin();
    }

    /** One write and one read without waiting, for what no caller waits for. Needs the lock. */
    void pump() {
        flush(true);
        Wire wire = state.wire;
        if (wire == null || state.isTurning) {
            return;
        }
        state.isTurning = true;
        boolean isStalled = stallLeft(System.nanoTime()) <= 0;
        state.lock.unlock();
        int bytes = 0;
        IOException failure = null;
        try {
            bytes = wire.read();
        } catch (IOException error) {
            failure = error;
        } finally {
            state.lock.lock();
        }
        state.isTurning = false;
        if (failure != null) {
            lose(wire, failure);
        } else if (bytes < 0) {
            lose(wire, new IOException("the server closed it"));
        } else if (bytes > 0 && state.wire == wire) {
            try {
                state.progressAt = System.nanoTime();
                wire.takeIn(state.pipeline, state.sink);
            } catch (ProtocolError error) {
                state.lose(() -> new ProtocolError(error.violation()), error.getMessage(),
                        System.nanoTime());
            }
        } else if (isStalled) {
            lose(wire, stalled());
        }
        Thread successor = state.successor();
        state.lock.unlock();
        try {
            if (successor != null) {
                LockSupport.unpark(successor);
            }
            notifyDone();
        } finally {
            state.lock.lock();
        }
    }

    /** Wakes the threads and calls the listeners of operations that are done. Needs no lock. */
    void notifyDone() {
        Operation notices;
        state.lock.lock();
        try {
            notices = state.takeNotices();
        } finally {
            state.lock.unlock();
        }
        notifyAbout(notices);
    }

    private static void notifyAbout(Operation first) {
        Operation notice = first;
        while (notice != null) {
            Operation next = notice.next;
            notice.next = null;
            Thread sleeper = notice.sleeper;
            if (sleeper != null) {
                notice.sleeper = null;
                LockSupport.unpark(sleeper);
            }
            if (notice.listener != null) {
                notice.listener.accept(null);
            }
            notice = next;
        }
    }

    private void lose(Wire wire, IOException error) {
        if (state.wire == wire) {
            String text = text(error);
            state.lose(() -> new Disconnected(text), text, System.nanoTime());
        }
    }

    private void fail(Wire wire, IOException error) {
        String text = text(error);
        fail(wire, () -> new Disconnected(text), text);
    }

    /** Ends this life of the connection, where it is still that one. */
    private void fail(Wire wire, Supplier<MemcacheException> error, String text) {
        state.lock.lock();
        try {
            if (state.wire == wire) {
                state.lose(error, text, System.nanoTime());
            }
        } finally {
            state.lock.unlock();
        }
    }

    static String text(IOException error) {
        return error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
    }

    /** Nanoseconds for which the server may still be silent. */
    private long stallLeft(long now) {
        if (!state.pipeline.isOwed() && state.blockedBytes == 0) {
            return settings.stall();
        }
        return settings.stall() - (now - state.progressAt);
    }

    private IOException stalled() {
        return new IOException("the server sent nothing for "
                + TimeUnit.NANOSECONDS.toMillis(settings.stall()) + " ms");
    }
}
