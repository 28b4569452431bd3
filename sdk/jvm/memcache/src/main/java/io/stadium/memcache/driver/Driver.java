package io.stadium.memcache.driver;

import io.stadium.memcache.Disconnected;
import io.stadium.memcache.MemcacheException;
import io.stadium.memcache.ProtocolError;
import io.stadium.memcache.protocol.Operation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

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
    private static final int YIELDS_MAX = 6;

    /** After so many batches of answers, one caller fewer is expected to wait at a time. */
    private static final int PEAK_BATCHES = 64;

    /** A yield that took longer gave the core to another program. */
    private static final long YIELD_LONG = TimeUnit.MILLISECONDS.toNanos(1);

    /** Turns without a yield after such a one; twice as many after each that follows. */
    private static final int TURNS_TO_SKIP_MIN = 16;
    private static final int TURNS_TO_SKIP_MAX = 1_024;

    /** Pauses of the processor between two looks at what callers submit: about a microsecond. */
    private static final int SPINS = 30;

    /** Between two looks at the socket, from the time on at which an answer is usual. */
    private static final long BETWEEN_LOOKS = TimeUnit.MICROSECONDS.toNanos(4);

    private static final boolean IS_ONE_CORE = isOneCore();

    final Settings settings;
    final State state;
    /** There are reads or forced writes to send. */
    volatile boolean hasWork;
    /** Owned by the thread that turns. */
    private int turnsWithoutYield;
    private int turnsToSkip = TURNS_TO_SKIP_MIN;
    /** Reads that brought answers, modulo {@link #PEAK_BATCHES}. */
    private int batches;
    private final Turnaround turnaround = new Turnaround();
    /** Reads that were submitted, modulo 2^32. Written under the lock. */
    volatile int reads;
    /** Reads that were submitted and are not sealed. Written under the lock. */
    volatile int unsentReads;
    /** A caller turns, and does not sleep in the socket. */
    private volatile boolean isTurnerAwake;
    /** Callers that yield the core to the one that turns. Guarded by the lock. */
    private int yielders;
    /** Callers that wait. */
    final AtomicInteger waiting = new AtomicInteger();
    /** Callers that waited at a time, of late. Written under the lock. */
    private volatile int peak;

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
        try {
            writeAll(wire, withWrites);
        } finally {
            state.isWriting = false;
        }
    }

    private void writeAll(Wire wire, boolean withWrites) {
        boolean isDue = withWrites;
        while (true) {
            long now = System.nanoTime();
            isDue |= state.outbox.writeBytes() >= WRITES_BYTES
                    || state.outbox.isWriteDue(now, WRITES_DELAY);
            unsentReads = 0;
            state.seal(now, isDue);
            isDue = false;
            wire.fill(state.outbox);
            int before = wire.unwritten();
            if (before == 0) {
                return;
            }
            boolean isWritten = false;
            IOException failure = null;
            state.lock.unlock();
            try {
                isWritten = wire.write();
            } catch (IOException | RuntimeException error) {
                failure = asFailure(error);
            } finally {
                state.lock.lock();
            }
            if (state.wire != wire) {
                return;
            }
            if (failure != null) {
                lose(wire, failure);
                return;
            }
            state.blockedBytes = wire.unwritten();
            if (!isWritten) {
                if (state.blockedBytes < before) {
                    state.progressAt = now;
                }
                return;
            }
        }
    }

    /** An error of the socket; any other one ends the connection too, whose state is unknown. */
    private static IOException asFailure(Exception error) {
        return error instanceof IOException failure
                ? failure : new IOException("the client failed: " + error, error);
    }

    /**
     * Reads answers until the caller's own has come, its deadline passed, or the connection ended.
     * {@code isTurning} is set, and is cleared here.
     *
     * @param own the caller's operation; without one, until no operation is driven
     */
    void turn(Wire wire, Operation own, long deadline) {
        try {
            isTurnerAwake = true;
            long spin = turnsWithoutYield > 0 ? 0 : settings.spin();
            long silentSince = 0;
            // Looks at the socket in vain; -1 before the first.
            int looks = -1;
            while (true) {
                if (hasWork) {
                    spin = letOthersSubmit();
                    send();
                }
                int bytes = wire.read();
                if (bytes < 0) {
                    throw new IOException("the server closed it");
                }
                if (bytes > 0) {
                    if (takeIn(wire, own, deadline)) {
                        return;
                    }
                    notifyDone();
                    if (looks >= 0) {
                        turnaround.answered(System.nanoTime() - silentSince, looks == 1);
                    }
                    looks = -1;
                    continue;
                }
                long now = System.nanoTime();
                if (looks < 0) {
                    looks = 0;
                    silentSince = now;
                }
                long left = Math.min(silentSince + spin - now, deadline - now);
                if (left > 0) {
                    if (isAnyoneOut()) {
                        Thread.yield();
                        looks++;
                    } else if (spin(now, Math.min(looks == 0 ? turnaround.usual() : BETWEEN_LOOKS, left))) {
                        looks++;
                    }
                    continue;
                }
                // Such an answer says nothing of the usual time.
                looks = -1;
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

    /** Writes the reads that were submitted. */
    public void send() {
        state.lock.lock();
        try {
            if (hasWork) {
                hasWork = false;
                flush(false);
            }
        } finally {
            state.lock.unlock();
        }
    }

    /** Spins for so long; {@code false} where work came before the end. */
    private boolean spin(long begun, long nanos) {
        while (System.nanoTime() - begun < nanos) {
            for (int at = 0; at < SPINS; at++) {
                Thread.onSpinWait();
            }
            if (hasWork) {
                return false;
            }
        }
        return true;
    }

    /** Hands answers to their operations; {@code true} where the turn is over. */
    private boolean takeIn(Wire wire, Operation own, long deadline) {
        state.lock.lock();
        try {
            if (state.wire != wire) {
                return true;
            }
            long now = System.nanoTime();
            state.progressAt = now;
            notePeak();
            wire.takeIn(state.pipeline, state.sink);
            state.expireSleepers(now);
            if (own == null) {
                state.driven.removeIf(Operation::isDone);
            }
            // A server that sends a little at a time does not keep the caller beyond its deadline.
            return now - deadline >= 0 || (own == null ? state.driven.isEmpty() : own.isDone());
        } finally {
            state.lock.unlock();
        }
    }

    /** Sleeps until the socket has something; {@code true} where the turn is over. */
    private boolean sleep(Wire wire, Operation own, long deadline, long now) throws IOException {
        boolean isBlocked;
        long longest;
        state.lock.lock();
        try {
            if (now - deadline >= 0 || own != null && own.isDone() || state.wire != wire
                    || Thread.currentThread().isInterrupted()) {
                return true;
            }
            long stallLeft = stallLeft(now);
            if (stallLeft <= 0) {
                throw stalled();
            }
            if (hasWork) {
                return false;
            }
            longest = Math.min(Math.min(stallLeft, deadline - now), state.sleepersLeft(now));
            state.isAsleep = true;
            isTurnerAwake = false;
            state.wakesBy = now + longest;
            isBlocked = state.blockedBytes > 0;
        } finally {
            state.lock.unlock();
        }
        try {
            wire.transport.await(isBlocked, longest);
        } finally {
            state.lock.lock();
            try {
                state.isAsleep = false;
                isTurnerAwake = true;
                state.expireSleepers(System.nanoTime());
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
        isTurnerAwake = false;
        Thread successor;
        Operation notices;
        state.lock.lock();
        try {
            state.isTurning = false;
            notices = state.takeNotices();
            successor = successor();
            if (successor == null && yielders == 0 && !state.driven.isEmpty()) {
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

    /** Keeps how many callers wait at a time. Needs the lock. */
    private void notePeak() {
        batches = (batches + 1) % PEAK_BATCHES;
        peak = Math.max(batches == 0 ? peak - 1 : peak, waiting.get());
    }

    /** True where as many callers have submitted as wait at a time: nobody is waited for. */
    boolean isEveryoneIn() {
        return unsentReads >= Math.max(1, peak);
    }

    /** True where a caller has its answer and does not wait for the next one yet. */
    private boolean isAnyoneOut() {
        return waiting.get() < peak;
    }

    /**
     * Yields while other callers submit: their gets leave with ours. Returns the time to spin.
     * While other programs want the core it is none: a yield then costs a slice of theirs, and
     * callers run only while this one sleeps.
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
            // The last one who submits writes for all where this thread does not run yet.
            if (isEveryoneIn() || !hasWork) {
                break;
            }
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
        } catch (IOException | RuntimeException error) {
            failure = asFailure(error);
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
        Thread successor = successor();
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
                call(notice.listener, null);
            }
            notice = next;
        }
    }

    /** Calls a listener, whose failure is not the connection's. */
    static void call(Consumer<MemcacheException> listener, MemcacheException error) {
        try {
            listener.accept(error);
        } catch (RuntimeException failure) {
            Thread thread = Thread.currentThread();
            thread.getUncaughtExceptionHandler().uncaughtException(thread, failure);
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

    /** True where a caller that waits yields: all run on one core, and another one turns there. */
    boolean canYield() {
        return IS_ONE_CORE && isTurnerAwake;
    }

    /**
     * Lets the caller that turns go on, until the operation is done, or it sleeps or leaves: that
     * costs half of a wake-up. Returns whether that was soon: where other programs want the core,
     * it is better to sleep. Needs the lock.
     */
    boolean yieldFor(Operation operation) {
        yielders++;
        state.lock.unlock();
        boolean isSoon = true;
        try {
            long now = System.nanoTime();
            while (isSoon && isTurnerAwake && !operation.isDone()) {
                Thread.yield();
                long before = now;
                now = System.nanoTime();
                isSoon = now - before < YIELD_LONG;
            }
        } finally {
            state.lock.lock();
            yielders--;
        }
        return isSoon;
    }

    /** A thread to turn where nobody does, which the caller unparks. Needs the lock. */
    Thread successor() {
        return state.isTurning || yielders > 0 ? null : state.handOver();
    }

    /** True where the process has one core, not only the time of one. Linux only. */
    private static boolean isOneCore() {
        if (Runtime.getRuntime().availableProcessors() > 1) {
            return false;
        }
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/status"))) {
            return lines.anyMatch(line -> line.matches("Cpus_allowed_list:\\s*\\d+"));
        } catch (IOException | RuntimeException error) {
            return false;
        }
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
