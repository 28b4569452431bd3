package io.stadium.memcache.protocol;

import io.stadium.memcache.MemcacheException;
import java.nio.ByteBuffer;
import java.util.function.Consumer;

/**
 * One operation: its arguments, then its answer.
 *
 * <p>The thread that submits it writes the arguments. The answer is written by the thread that
 * reads it, and published by {@link #isDone()}.
 */
public final class Operation {
    /** The result of an operation that the server carried out. */
    public enum Outcome {
        /** It was done: stored, deleted, touched, or a value came. */
        DONE,
        /** There is no such item. */
        NOT_FOUND,
        /** The condition of {@code add}, {@code replace} or the like does not hold. */
        NOT_STORED,
        /** The item's unique number is another one. */
        EXISTS
    }

    /** The form of the answer that is to come. */
    enum Expect { GET, QUIET, META, CLASSIC, STATISTICS, NOOP }

    /** An expiry or a number that is not sent. */
    public static final long ABSENT = Long.MIN_VALUE;

    /** The command {@code mn}. */
    static final Operation NOOP = new Operation();

    public final Command command;
    public final byte[] key;
    public final boolean isBinary;
    /** When the operation ends, in nanoseconds of {@link System#nanoTime}. */
    public final long deadline;
    /**
     * When it was submitted, likewise; from its end on the nanoseconds that it took, where it has a
     * listener. Guarded by the lock of the connection.
     */
    public long time;

    /** The value to store, until it is sent; then the value that came. */
    public byte[] value;
    /**
     * The caller's buffer, into which a value goes that fits and is not compressed; {@code null}
     * for none, and when its caller left. Guarded by the lock of the connection.
     */
    public ByteBuffer target;
    /** The flags of the client. */
    public int flags;
    /** As memcached counts it. */
    public long expiry = ABSENT;
    /** The unique number; the amount of {@code incr} and {@code decr}, then the new number. */
    public long number;
    /** The value where there is none. */
    public long initial;
    /** The seconds left below which one client is elected. */
    public int recacheSeconds;

    public Outcome outcome = Outcome.DONE;
    public boolean won;
    public boolean isStale;
    public boolean isTaken;
    public MemcacheException error;

    /** The thread that sleeps until it is done. Guarded by the lock of the connection. */
    public Thread sleeper;
    /** Called when it is done, without a lock. Guarded by the lock of the connection. */
    public Consumer<MemcacheException> listener;
    /** Links of the list of sleeping operations, and of those that are done. */
    public Operation previous;
    public Operation next;
    /** The statistics that came so far. */
    public Bytes text;

    Expect expect;
    /** It is the last key of its line. */
    boolean isLast;
    int opaque;
    private volatile boolean isDone;

    public Operation(Command command, byte[] key, boolean isBinary, long deadline) {
        this.command = command;
        this.key = key;
        this.isBinary = isBinary;
        this.deadline = deadline;
    }

    /** It ended at this time. */
    public void took(long now) {
        time = now - time;
    }

    private Operation() {
        this(Command.VERSION, new byte[0], false, 0);
        expect = Expect.NOOP;
    }

    /** The same read, for another try. */
    public Operation again() {
        Operation again = new Operation(command, key, isBinary, deadline);
        again.time = System.nanoTime();
        again.expiry = expiry;
        again.recacheSeconds = recacheSeconds;
        again.target = target;
        return again;
    }

    /** True where the answer came, or can no longer come. */
    public boolean isDone() {
        return isDone;
    }

    /** Publishes the answer. */
    public void finish() {
        isDone = true;
    }
}
