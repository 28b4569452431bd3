package io.stadium.memcache.driver;

import io.stadium.memcache.Dialect;
import io.stadium.memcache.Disconnected;
import io.stadium.memcache.MemcacheException;
import io.stadium.memcache.ServerError;
import io.stadium.memcache.Uncertain;
import io.stadium.memcache.protocol.Operation;
import io.stadium.memcache.protocol.Outbox;
import io.stadium.memcache.protocol.Pipeline;
import java.net.InetAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** All that the lock of a connection guards. Nothing here reads a clock or waits. */
final class State {
    /** Sets that are answered one by one, after an error that a set may have had. */
    private static final int LOUD_SETS = 1_000;

    final ReentrantLock lock = new ReentrantLock();
    /** For the helper. */
    final Condition bell = lock.newCondition();
    /** A connection began, or could not begin. */
    final Condition linked = lock.newCondition();

    final Pipeline pipeline;
    final Outbox outbox;
    final Consumer<Operation> sink = this::done;

    /** {@code null} where there is no connection. */
    Wire wire;
    Dialect dialect = Dialect.META;
    /** The server's IP address; {@code null} for a Unix socket, and before the first connection. */
    InetAddress peer;
    /** Operations that are not done. */
    int operations;
    /** Bytes that the socket did not take. */
    int blockedBytes;
    /** A caller reads the socket. Written under the lock; waiting callers read it without. */
    volatile boolean isTurning;
    /** That caller sleeps: others write themselves. */
    boolean isAsleep;
    /** It wakes at that time at the latest. */
    long wakesBy;
    /** A thread writes, and checks for more before it leaves. */
    boolean isWriting;
    /** A caller waits for a write: everything leaves now, confirmed. */
    boolean isForced;
    /** A caller waits for a connection. */
    boolean isWanted;
    boolean isClosed;
    boolean hasHelper;
    boolean isHelperParked;
    /** Operations with futures: the helper drives for them, and keeps their deadlines. */
    final List<Operation> driven = new ArrayList<>();
    /** Connects that failed, one after the other. */
    int failures;
    /** No connect before it. */
    long retryAt;
    Supplier<MemcacheException> lastError = () -> new Disconnected("not connected yet");
    /** The time at which the server last sent anything, or first owed an answer. */
    long progressAt;
    /** Sets that are still answered one by one. */
    private int loudSets;

    /** Sleeping operations, the longest sleeping first. */
    private Operation firstSleeper;
    private Operation lastSleeper;
    /** No sleeper's deadline is before it; without sleepers it means nothing. */
    private long earliest;
    /** Operations that are done, and whose thread or listener is not notified. */
    private Operation firstNotice;
    private Operation lastNotice;

    State(int valueBytesMax, long now) {
        pipeline = new Pipeline(valueBytesMax);
        outbox = new Outbox(pipeline);
        retryAt = now;
        progressAt = now;
    }

    /**
     * The operation's thread sleeps until it is unparked: because the operation is done, to turn,
     * or because its deadline passed, to which the thread that turns sees.
     */
    void sleeps(Operation operation, Thread sleeper) {
        if (firstSleeper == null || operation.deadline - earliest < 0) {
            earliest = operation.deadline;
        }
        operation.sleeper = sleeper;
        operation.previous = lastSleeper;
        operation.next = null;
        if (lastSleeper == null) {
            firstSleeper = operation;
        } else {
            lastSleeper.next = operation;
        }
        lastSleeper = operation;
    }

    /** The operation sleeps no longer, where it did. */
    void wakes(Operation operation) {
        if (operation.sleeper == null) {
            return;
        }
        operation.sleeper = null;
        if (operation.previous == null) {
            firstSleeper = operation.next;
        } else {
            operation.previous.next = operation.next;
        }
        if (operation.next == null) {
            lastSleeper = operation.previous;
        } else {
            operation.next.previous = operation.previous;
        }
        operation.previous = null;
        operation.next = null;
    }

    /** Nobody turns: a thread that sleeps is to do it, which the caller unparks. */
    Thread handOver() {
        return firstSleeper == null ? null : firstSleeper.sleeper;
    }

    /** Nanoseconds until the first deadline of a sleeper. */
    long sleepersLeft(long now) {
        return firstSleeper == null ? Long.MAX_VALUE : Math.max(0, earliest - now);
    }

    /** Unparks the sleepers whose deadline passed: they find that out themselves. */
    void expireSleepers(long now) {
        if (firstSleeper == null || now - earliest < 0) {
            return;
        }
        // One that is unparked may still be in the list at the next time.
        earliest = now + Long.MAX_VALUE / 2;
        for (Operation one = firstSleeper; one != null; one = one.next) {
            if (now - one.deadline >= 0) {
                LockSupport.unpark(one.sleeper);
            } else if (one.deadline - earliest < 0) {
                earliest = one.deadline;
            }
        }
    }

    private void done(Operation operation) {
        operations--;
        if (operation.error instanceof Uncertain || operation.error instanceof ServerError) {
            loudSets = LOUD_SETS;
        }
        Thread sleeper = operation.sleeper;
        if (operation.listener != null) {
            operation.took(progressAt);
        }
        if (sleeper != null || operation.listener != null) {
            wakes(operation);
            operation.sleeper = sleeper;
            if (lastNotice == null) {
                firstNotice = operation;
            } else {
                lastNotice.next = operation;
            }
            lastNotice = operation;
        }
        operation.finish();
    }

    /** The operations to notify, linked by {@code next}, once the lock is released. */
    Operation takeNotices() {
        Operation first = firstNotice;
        firstNotice = null;
        lastNotice = null;
        return first;
    }

    /** True where sets are answered one by one, after an error that may have been of any. */
    boolean isLoud() {
        if (loudSets > 0) {
            loudSets--;
            return true;
        }
        return false;
    }

    /** Seals what is due. */
    void seal(long now, boolean withWrites) {
        boolean wasOwed = pipeline.isOwed();
        if (isForced) {
            isForced = false;
            outbox.sealConfirmed();
        } else {
            outbox.seal(withWrites);
        }
        if (!wasOwed) {
            progressAt = now;
        }
    }

    /** Ends the life of the connection: every operation on it fails. */
    void lose(Supplier<MemcacheException> error, String text, long now) {
        if (wire != null) {
            wire.transport.close();
            wire = null;
        }
        progressAt = now;
        Consumer<Operation> lost = operation -> {
            operation.error = error.get();
            done(operation);
        };
        pipeline.clear(lost);
        outbox.clear(lost);
        loudSets = 0;
        blockedBytes = 0;
        isForced = false;
        lastError = () -> new Disconnected(text);
        retryAt = now;
        linked.signalAll();
    }

    MemcacheException disconnected() {
        return lastError.get();
    }

    /** True where anything is neither confirmed nor lost. */
    boolean isBusy() {
        return outbox.bytes() > 0 || blockedBytes > 0 || !pipeline.isEmpty() || !driven.isEmpty();
    }

    /** Bytes that the server did not take yet. */
    int unsentBytes() {
        return outbox.bytes() + blockedBytes;
    }
}
