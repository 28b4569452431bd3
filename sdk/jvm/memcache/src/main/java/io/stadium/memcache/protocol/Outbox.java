package io.stadium.memcache.protocol;

import io.stadium.memcache.Dialect;
import io.stadium.memcache.protocol.Operation.Expect;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * Commands that were not written yet, in three parts: gets, writes, and sealed bytes.
 *
 * <p>Gets of several callers become one {@code get k1 k2 ..}; writes gather behind them. Sealing
 * puts gets before writes, and both behind all that was sealed before. A get of a key that an
 * unsent write changes seals first: commands for one key leave in the order in which they were
 * submitted.
 */
public final class Outbox {
    /** Bytes of a {@code get} line at most: memcached copies lines of more than 2,048. */
    private static final int LINE_BYTES_MAX = 2_000;

    /** Quiet sets in a row at most: then {@code mn} confirms them, and they count no longer. */
    private static final int QUIET_MAX = 256;

    /** Values above it are answered one by one, so that an error is known to be theirs. */
    private static final int QUIET_VALUE_BYTES_MAX = 8 << 10;

    private static final byte[] GET = {'g', 'e', 't'};
    private static final byte[] LINE_END = {'\r', '\n'};

    private final Pipeline pipeline;
    private Dialect dialect = Dialect.META;
    private int opaque;

    /** The {@code get} lines, each whole but for the last one. */
    private final Bytes line = new Bytes();
    private int lineBegin;
    private final Batch gets = new Batch();
    /** Reads that have a line of their own. */
    private final Bytes reads = new Bytes();
    private final Batch otherReads = new Batch();
    private final Bytes writes = new Bytes();
    private final Batch writers = new Batch();
    /** Bits of the hashes of the keys of {@code writes}: two keys with one bit cost a seal. */
    private final long[] written = new long[KEY_BITS / Long.SIZE];
    private long firstWriteAt;
    private int quiet;
    /** In the order of the wire. */
    private Bytes sealed = new Bytes();

    private static final int KEY_BITS = 4_096;

    /** Operations of one part. */
    private static final class Batch {
        private Operation[] operations = new Operation[32];
        private int count;

        void add(Operation operation) {
            if (count == operations.length) {
                operations = Arrays.copyOf(operations, count * 2);
            }
            operations[count++] = operation;
        }

        Operation last() {
            return count == 0 ? null : operations[count - 1];
        }

        void moveTo(Consumer<Operation> taker) {
            for (int at = 0; at < count; at++) {
                Operation one = operations[at];
                operations[at] = null;
                taker.accept(one);
            }
            count = 0;
        }
    }

    /** The commands of a connection, whose answers {@code pipeline} expects. */
    public Outbox(Pipeline pipeline) {
        this.pipeline = pipeline;
    }

    /** Sets the dialect, of a new connection. */
    public void speak(Dialect its) {
        dialect = its;
    }

    /**
     * Puts an operation where it belongs.
     *
     * @param isLoud a set is answered also where it succeeds
     */
    public void add(Operation operation, boolean isLoud, long now) {
        switch (operation.command.verb()) {
            case READ -> addRead(operation);
            case STATISTICS -> addOther(operation, Expect.STATISTICS);
            case VERSION -> addOther(operation, Expect.CLASSIC);
            default -> addWrite(operation, isLoud, now);
        }
    }

    private void addRead(Operation operation) {
        order(operation.key);
        if (operation.command == Command.GET && !operation.isBinary) {
            addGet(operation);
        } else if (operation.command == Command.GETS && dialect == Dialect.CLASSIC) {
            operation.isLast = true;
            addOther(operation, Expect.GET);
        } else {
            addOther(operation, Expect.META);
        }
    }

    /** A get that may share a line with others. */
    private void addGet(Operation operation) {
        byte[] key = operation.key;
        int bytes = line.length - lineBegin;
        if (bytes > 0 && bytes + key.length + 3 > LINE_BYTES_MAX) {
            endLine();
        }
        line.room(GET.length + 1 + key.length);
        if (line.length == lineBegin) {
            line.put(GET);
        }
        line.put(' ');
        line.put(key);
        operation.expect = Expect.GET;
        gets.add(operation);
    }

    private void addOther(Operation operation, Expect expect) {
        operation.expect = expect;
        operation.opaque = opaque();
        Encoder.write(reads, operation, dialect);
        otherReads.add(operation);
    }

    private void addWrite(Operation operation, boolean isLoud, long now) {
        boolean isQuiet = operation.command == Command.SET && dialect == Dialect.META && !isLoud
                && operation.value.length <= QUIET_VALUE_BYTES_MAX;
        if (isQuiet) {
            operation.expect = Expect.QUIET;
            quiet++;
        } else {
            operation.expect = dialect == Dialect.META ? Expect.META : Expect.CLASSIC;
            operation.opaque = opaque();
        }
        Operation last = writers.last();
        boolean followsQuiet =
                last == null ? pipeline.endsQuiet() : last.expect == Expect.QUIET;
        if (followsQuiet && (!isQuiet || quiet > QUIET_MAX)) {
            // An error without an opaque token is then either of theirs or of its own.
            writes.put(Encoder.NOOP);
            writers.add(Operation.NOOP);
            quiet = isQuiet ? 1 : 0;
        }
        if (writers.count == 0) {
            firstWriteAt = now;
        }
        Encoder.write(writes, operation, dialect);
        operation.value = null;
        writers.add(operation);
        int bit = bit(operation.key);
        written[bit / Long.SIZE] |= 1L << bit;
    }

    private int opaque() {
        opaque = opaque + 1 & Integer.MAX_VALUE;
        return opaque;
    }

    /** Seals everything where an unsent write may be on this key. */
    private void order(byte[] key) {
        if (writers.count > 0) {
            int bit = bit(key);
            if ((written[bit / Long.SIZE] & 1L << bit) != 0) {
                seal(true);
            }
        }
    }

    private static int bit(byte[] key) {
        int hash = Arrays.hashCode(key) * 0x9e3779b1;
        return hash >>> Integer.SIZE - 12;
    }

    private void endLine() {
        gets.last().isLast = true;
        line.put(LINE_END);
        lineBegin = line.length;
    }

    /** Gets, and the writes where they are due, get their place on the wire. */
    public void seal(boolean withWrites) {
        if (gets.count > 0) {
            endLine();
            lineBegin = 0;
            sealed.take(line);
            gets.moveTo(pipeline::push);
        }
        if (otherReads.count > 0) {
            sealed.take(reads);
            otherReads.moveTo(pipeline::push);
        }
        if (withWrites && writers.count > 0) {
            sealed.take(writes);
            writers.moveTo(pipeline::push);
            Arrays.fill(written, 0);
        }
    }

    /** Seals everything, with {@code mn} behind it where a quiet set is last. */
    public void sealConfirmed() {
        seal(true);
        if (pipeline.endsQuiet()) {
            sealed.put(Encoder.NOOP);
            pipeline.push(Operation.NOOP);
            quiet = 0;
        }
    }

    /** Bytes of writes that are not sealed. */
    public int writeBytes() {
        return writes.length;
    }

    /** True where the oldest write that is not sealed was submitted {@code delay} ago. */
    public boolean isWriteDue(long now, long delay) {
        return writers.count > 0 && now - firstWriteAt >= delay;
    }

    public int sealedBytes() {
        return sealed.length;
    }

    /** Bytes that wait to be written. */
    public int bytes() {
        return line.length + reads.length + writes.length + sealed.length;
    }

    /** Exchanges the sealed bytes for an empty buffer. */
    public Bytes takeSealed(Bytes empty) {
        Bytes full = sealed;
        sealed = empty;
        return full;
    }

    /** Hands over every operation that is not sealed, for a connection that ended. */
    public void clear(Consumer<Operation> lost) {
        Consumer<Operation> taker = one -> {
            if (one != Operation.NOOP) {
                lost.accept(one);
            }
        };
        gets.moveTo(taker);
        otherReads.moveTo(taker);
        writers.moveTo(taker);
        line.clear();
        lineBegin = 0;
        reads.clear();
        writes.clear();
        sealed.clear();
        Arrays.fill(written, 0);
        quiet = 0;
    }
}
