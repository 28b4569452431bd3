package io.stadium.memcache.protocol;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.stadium.memcache.ClientError;
import io.stadium.memcache.MemcacheException;
import io.stadium.memcache.ProtocolError;
import io.stadium.memcache.ProtocolError.Violation;
import io.stadium.memcache.ServerError;
import io.stadium.memcache.Uncertain;
import io.stadium.memcache.Value;
import io.stadium.memcache.protocol.Command.Verb;
import io.stadium.memcache.protocol.Operation.Expect;
import io.stadium.memcache.protocol.Operation.Outcome;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

/**
 * Assigns answers to operations.
 *
 * <p>A server answers a connection's commands in their order. A quiet store has no answer when it
 * succeeds: it is done when anything behind it is answered. Errors of the server carry no opaque
 * token, so one among several quiet stores cannot be told apart: all of them end as
 * {@link Uncertain}.
 */
public final class Pipeline {
    /** Bytes of one answer to {@code stats} at most; all slab classes are some 40 kB. */
    private static final int STATISTIC_BYTES_MAX = 4 << 20;

    /** Errors at most between two commands that are answered: quiet stores are fewer. */
    private static final int ERRORS_MAX = 4_096;

    private final Decoder decoder;

    /** The commands that were sent and not answered: a ring, whose length is a power of two. */
    private Operation[] ring = new Operation[64];
    private int head;
    private int count;
    /** Of those, the ones that the server answers in any case. */
    private int answered;
    /** The last key of the line in front had its value: its END is still to come. */
    private boolean isMatched;
    /** Errors among the quiet stores in front. */
    private final List<Refusal> errors = new ArrayList<>();

    /** An answer that stands for a failure. */
    private record Refusal(Decoder.Kind kind, String text) {
        MemcacheException error() {
            return switch (kind) {
                case SERVER_ERROR -> new ServerError(text);
                case CLIENT_ERROR -> new ClientError(text);
                default -> new ClientError("the server does not know the command");
            };
        }
    }

    /**
     * A connection's pipeline.
     *
     * @param valueBytesMax bytes of a value at most
     */
    public Pipeline(int valueBytesMax) {
        decoder = new Decoder(valueBytesMax);
    }

    /** Notes that a command was sent, or will be before any later one. */
    void push(Operation operation) {
        if (count == ring.length) {
            Operation[] larger = new Operation[count * 2];
            for (int at = 0; at < count; at++) {
                larger[at] = ring[head + at & count - 1];
            }
            ring = larger;
            head = 0;
        }
        ring[head + count & ring.length - 1] = operation;
        count++;
        if (operation.expect != Expect.QUIET) {
            answered++;
        }
    }

    private Operation front() {
        if (count == 0) {
            throw new ProtocolError(Violation.UNSOLICITED_ANSWER);
        }
        return ring[head];
    }

    private Operation pop() {
        Operation front = ring[head];
        ring[head] = null;
        head = head + 1 & ring.length - 1;
        count--;
        if (front.expect != Expect.QUIET) {
            answered--;
        }
        return front;
    }

    /** True where everything is answered. */
    public boolean isEmpty() {
        return count == 0;
    }

    int size() {
        return count;
    }

    /** True where the server owes an answer, also where quiet stores succeed. */
    public boolean isOwed() {
        return answered > 0;
    }

    /** True where the last command is a quiet store, which only a later command confirms. */
    boolean endsQuiet() {
        return count > 0 && ring[head + count - 1 & ring.length - 1].expect == Expect.QUIET;
    }

    /** Hands over every command, for a connection that ended, and forgets it. */
    public void clear(Consumer<Operation> lost) {
        for (; count > 0; count--) {
            Operation one = ring[head];
            ring[head] = null;
            head = head + 1 & ring.length - 1;
            // The last key of a line may have had its value.
            if (one != Operation.NOOP && !(isMatched && one.isLast)) {
                lost.accept(one);
            }
            isMatched &= !one.isLast;
        }
        errors.clear();
        answered = 0;
        isMatched = false;
    }

    /**
     * Takes as many whole answers as were received. The rest has to be given again, with what is
     * received behind it.
     *
     * @return the bytes that the answers took
     * @throws ProtocolError the server broke the protocol. Answers before were handed on; the
     *     connection has to be closed
     */
    public int receive(byte[] received, int from, int to, Consumer<Operation> sink) {
        int at = from;
        while (at < to) {
            int taken = decoder.decode(received, at, to);
            if (taken == 0) {
                break;
            }
            answer(sink);
            at += taken;
        }
        decoder.buffer = null;
        return at - from;
    }

    private void answer(Consumer<Operation> sink) {
        switch (decoder.kind) {
            case ERROR, CLIENT_ERROR, SERVER_ERROR -> {
                refuse(sink);
                return;
            }
            default -> { }
        }
        if (front().expect == Expect.QUIET) {
            confirm(sink);
        }
        Operation front = front();
        switch (front.expect) {
            case GET -> classicGet(sink);
            case META -> {
                meta(front);
                done(pop(), sink);
            }
            case CLASSIC -> {
                classic(front);
                done(pop(), sink);
            }
            case STATISTICS -> statistics(front, sink);
            case NOOP -> {
                if (decoder.kind != Decoder.Kind.MN) {
                    throw new ProtocolError(Violation.UNEXPECTED_ANSWER);
                }
                pop();
            }
            default -> throw new ProtocolError(Violation.UNEXPECTED_ANSWER);
        }
    }

    private static void done(Operation operation, Consumer<Operation> sink) {
        sink.accept(operation);
    }

    private static void failed(
            Operation operation, MemcacheException error, Consumer<Operation> sink) {
        operation.error = error;
        sink.accept(operation);
    }

    /** The quiet stores in front are done: something behind them is answered. */
    private void confirm(Consumer<Operation> sink) {
        int stores = 0;
        while (stores < count && ring[head + stores & ring.length - 1].expect == Expect.QUIET) {
            stores++;
        }
        boolean allFailed = errors.size() == stores;
        for (int at = 0; at < stores; at++) {
            Operation store = pop();
            if (errors.isEmpty()) {
                done(store, sink);
            } else if (allFailed) {
                failed(store, errors.get(at).error(), sink);
            } else {
                failed(store, new Uncertain(errors.get(0).text), sink);
            }
        }
        errors.clear();
    }

    private void refuse(Consumer<Operation> sink) {
        Refusal refusal = new Refusal(decoder.kind, text(decoder.textFrom, decoder.textTo));
        Operation front = front();
        switch (front.expect) {
            case QUIET -> {
                if (errors.size() >= Math.min(ERRORS_MAX, count)) {
                    throw new ProtocolError(Violation.TOO_MANY_ERRORS);
                }
                errors.add(refusal);
            }
            // The error stands for the whole line.
            case GET -> endLine(sink, refusal);
            case NOOP -> throw new ProtocolError(Violation.UNEXPECTED_ANSWER);
            default -> failed(pop(), refusal.error(), sink);
        }
    }

    private String text(int from, int to) {
        return new String(decoder.buffer, from, to - from, UTF_8);
    }

    /** Values come in the order of the keys; those without a value are left out. */
    private void classicGet(Consumer<Operation> sink) {
        if (decoder.kind == Decoder.Kind.END) {
            endLine(sink, null);
            return;
        }
        if (decoder.kind != Decoder.Kind.VALUE) {
            throw new ProtocolError(Violation.UNEXPECTED_ANSWER);
        }
        while (true) {
            Operation operation = front();
            if (operation.isLast && isMatched) {
                throw new ProtocolError(Violation.KEY_MISMATCH);
            }
            boolean isIt = Arrays.equals(operation.key, 0, operation.key.length,
                    decoder.buffer, decoder.keyFrom, decoder.keyTo);
            if (isIt) {
                operation.flags = decoder.clientFlags;
                operation.number = decoder.cas;
                deliver(operation);
            } else if (operation.isLast) {
                throw new ProtocolError(Violation.KEY_MISMATCH);
            } else {
                operation.outcome = Outcome.NOT_FOUND;
            }
            if (operation.isLast) {
                isMatched = true;
            } else {
                pop();
            }
            done(operation, sink);
            if (isIt) {
                return;
            }
        }
    }

    /** The keys of the line that had no value are misses, or failed. */
    private void endLine(Consumer<Operation> sink, Refusal refusal) {
        boolean isLast;
        do {
            Operation operation = pop();
            isLast = operation.isLast;
            if (!(isLast && isMatched)) {
                if (refusal == null) {
                    operation.outcome = Outcome.NOT_FOUND;
                    done(operation, sink);
                } else {
                    failed(operation, refusal.error(), sink);
                }
            }
        } while (!isLast);
        isMatched = false;
    }

    /** A value goes into the caller's buffer, or into an array of its own. */
    private void deliver(Operation operation) {
        ByteBuffer target = operation.target;
        boolean isFitting = target != null && (decoder.clientFlags & Value.COMPRESSED) == 0
                && target.remaining() >= decoder.dataBytes;
        if (isFitting) {
            try {
                target.put(decoder.buffer, decoder.dataFrom, decoder.dataBytes);
                return;
            } catch (RuntimeException unusable) {
                // This thread may not write there; the caller finds out itself.
            }
        }
        operation.value = data();
    }

    private byte[] data() {
        int from = decoder.dataFrom;
        return Arrays.copyOfRange(decoder.buffer, from, from + decoder.dataBytes);
    }

    /** The answer to a meta command with an opaque token. */
    private void meta(Operation operation) {
        Verb verb = operation.command.verb();
        boolean fits = switch (decoder.kind) {
            case VA -> verb == Verb.READ || verb == Verb.ARITHMETIC;
            case HD -> verb != Verb.READ && verb != Verb.ARITHMETIC;
            case EN -> verb == Verb.READ || verb == Verb.TOUCH;
            case NF, EX -> verb != Verb.READ && verb != Verb.TOUCH;
            case NS -> verb == Verb.STORE || verb == Verb.ARITHMETIC;
            default -> false;
        };
        if (!fits) {
            throw new ProtocolError(Violation.UNEXPECTED_ANSWER);
        }
        // A miss had no flags before memcached 1.6.10.
        boolean isBareMiss = decoder.kind == Decoder.Kind.EN && !decoder.hasFlags;
        if (decoder.opaque != operation.opaque && !isBareMiss) {
            throw new ProtocolError(Violation.OPAQUE_MISMATCH);
        }
        operation.outcome = switch (decoder.kind) {
            case EN, NF -> Outcome.NOT_FOUND;
            case NS -> Outcome.NOT_STORED;
            case EX -> Outcome.EXISTS;
            default -> Outcome.DONE;
        };
        if (decoder.kind == Decoder.Kind.VA) {
            if (verb == Verb.ARITHMETIC) {
                int end = decoder.dataFrom + decoder.dataBytes;
                while (end > decoder.dataFrom && decoder.buffer[end - 1] == ' ') {
                    end--;
                }
                operation.number = decoder.number(decoder.dataFrom, end);
            } else {
                operation.flags = decoder.clientFlags;
                operation.number = decoder.cas;
                deliver(operation);
                operation.won = decoder.won;
                operation.isStale = decoder.isStale;
                operation.isTaken = decoder.isTaken;
            }
        }
    }

    /** The answer to a classic command other than {@code get} and {@code stats}. */
    private void classic(Operation operation) {
        Verb verb = operation.command.verb();
        boolean isWrite = operation.command.isWrite();
        boolean fits = switch (decoder.kind) {
            case STORED, NOT_STORED, EXISTS -> verb == Verb.STORE;
            case DELETED -> verb == Verb.DELETE;
            case TOUCHED -> verb == Verb.TOUCH;
            case NOT_FOUND -> isWrite;
            case NUMBER -> verb == Verb.ARITHMETIC;
            case VERSION -> verb == Verb.VERSION;
            default -> false;
        };
        if (!fits) {
            throw new ProtocolError(Violation.UNEXPECTED_ANSWER);
        }
        switch (decoder.kind) {
            case NOT_STORED -> operation.outcome = Outcome.NOT_STORED;
            case EXISTS -> operation.outcome = Outcome.EXISTS;
            case NOT_FOUND -> operation.outcome = Outcome.NOT_FOUND;
            case NUMBER -> operation.number = decoder.number;
            case VERSION -> operation.value =
                    Arrays.copyOfRange(decoder.buffer, decoder.textFrom, decoder.textTo);
            default -> { }
        }
    }

    private void statistics(Operation operation, Consumer<Operation> sink) {
        if (operation.text == null) {
            operation.text = new Bytes();
        }
        switch (decoder.kind) {
            case STAT -> {
                int bytes = decoder.textTo - decoder.keyFrom;
                if (operation.text.length() + bytes > STATISTIC_BYTES_MAX) {
                    throw new ProtocolError(Violation.STATISTICS_TOO_LONG);
                }
                operation.text.put(decoder.buffer, decoder.keyFrom, bytes);
                operation.text.put('\n');
            }
            case END, OK -> {
                operation.value = Arrays.copyOf(operation.text.array, operation.text.length);
                done(pop(), sink);
            }
            default -> throw new ProtocolError(Violation.UNEXPECTED_ANSWER);
        }
    }
}
