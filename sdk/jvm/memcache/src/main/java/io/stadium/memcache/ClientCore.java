package io.stadium.memcache;

import io.stadium.memcache.driver.Connection;
import io.stadium.memcache.driver.UdpSockets;
import io.stadium.memcache.protocol.Command;
import io.stadium.memcache.protocol.Keys;
import io.stadium.memcache.protocol.Operation;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;

/** The parts that all views of a client share: servers, the namespace, settings of operations. */
final class ClientCore {
    final List<Server> servers;
    final Executor executor;
    final UdpSockets udp;
    private final Router router;
    private final Failover failover;
    private final byte[] prefix;
    private final int compressFrom;
    private final int valueBytesMax;
    private final Observer observer;

    ClientCore(List<Server> servers, Router router, ClientBuilder settings) {
        this.servers = servers;
        this.router = router;
        failover = settings.failover;
        prefix = settings.prefix;
        compressFrom = settings.compressFrom;
        valueBytesMax = settings.valueBytesMax;
        observer = settings.observer;
        executor = settings.executor;
        udp = new UdpSockets(settings.udpTimeout, settings.valueBytesMax);
    }

    /** The key in the namespace. */
    private byte[] whole(byte[] key) {
        if (prefix.length == 0 || key.length == 0) {
            return key;
        }
        byte[] whole = Arrays.copyOf(prefix, prefix.length + key.length);
        System.arraycopy(key, 0, whole, prefix.length, key.length);
        return whole;
    }

    /** An operation on a key, which is not changed from now on. */
    Operation operation(Command command, byte[] key, long timeout) {
        byte[] whole = whole(key);
        boolean isBinary = Keys.isBinary(whole);
        Keys.check(whole, isBinary);
        return operation(command, whole, isBinary, timeout);
    }

    private static Operation operation(
            Command command, byte[] key, boolean isBinary, long timeout) {
        long now = System.nanoTime();
        Operation operation = new Operation(command, key, isBinary, now + timeout);
        operation.time = now;
        return operation;
    }

    /** Gives a store its value, compressed where it is to be and becomes smaller. */
    void load(Operation operation, byte[] value, int flags) {
        if ((flags & Value.COMPRESSED) != 0) {
            throw new BadFlags(flags);
        }
        operation.value = value;
        operation.flags = flags;
        if (value.length < compressFrom || operation.command == Command.APPEND
                || operation.command == Command.PREPEND) {
            return;
        }
        if (value.length > valueBytesMax) {
            // Readers have the same bound.
            throw new TooLarge(value.length, valueBytesMax);
        }
        byte[] stream = Compression.compress(value);
        if (stream != null) {
            operation.value = stream;
            operation.flags |= Value.COMPRESSED;
        }
    }

    /** The server of a key, for an operation that may be the trial of an ejected one. */
    Server server(byte[] key) {
        return choose(key, Server::admits);
    }

    /** The server of a key, for what is no trial of an ejected one. */
    Server route(byte[] key) {
        return choose(key, server -> !server.isEjected());
    }

    private Server choose(byte[] key, Predicate<Server> isUsable) {
        int chosen;
        if (failover == Failover.NEXT) {
            chosen = router.choose(key, at -> isUsable.test(servers.get(at)));
        } else {
            chosen = router.choose(key, at -> true);
            if (!isUsable.test(servers.get(chosen))) {
                chosen = -1;
            }
        }
        if (chosen < 0) {
            throw new Disconnected("the server of the key is ejected");
        }
        return servers.get(chosen);
    }

    Address addressOf(byte[] key) {
        byte[] whole = operation(Command.GET, key, 0).key;
        return servers.get(router.choose(whole, at -> true)).connection.address();
    }

    /** Submits an operation and waits; a connection that was lost is tried once more. */
    Operation read(Operation operation) {
        Operation first = operation;
        try {
            return readOnce(first);
        } catch (Disconnected error) {
            return readOnce(first.again());
        }
    }

    private Operation readOnce(Operation operation) {
        Server server = server(operation.key);
        submit(server, operation, true);
        await(server, operation);
        return operation;
    }

    <T> Pending<T> begin(Operation operation, Function<Operation, T> convert) {
        Server server = server(operation.key);
        submit(server, operation, false);
        return new Pending<>(this, server, operation, convert);
    }

    private void submit(Server server, Operation operation, boolean isWaiting) {
        Connection connection = server.connection;
        observe(operation, operation.command.text(), connection.address());
        try {
            connection.submit(operation, isWaiting);
        } catch (MemcacheException error) {
            server.note(error);
            if (operation.listener != null) {
                operation.took(System.nanoTime());
                operation.listener.accept(error);
            }
            throw traced(error);
        }
    }

    /** Notifies the observer, where there is one, now and when the operation ends. */
    void observe(Operation operation, String name, Address address) {
        if (observer == null) {
            return;
        }
        Object started = observer.started(name, address);
        // No clock is read for it: the connection has the times of a submission and of an answer.
        operation.listener = error -> observer.finished(name, address, started, operation.time,
                error == null ? operation.error : error);
    }

    /** Waits for an operation, and throws its error. */
    void await(Server server, Operation operation) {
        try {
            server.connection.await(operation);
        } catch (DeadlineExceeded error) {
            Consumer<MemcacheException> listener = server.connection.takeListener(operation);
            if (listener != null) {
                listener.accept(error);
            }
            server.note(error);
            throw traced(error);
        } catch (Interrupted error) {
            throw traced(error);
        }
        server.note(operation.error);
        if (operation.error != null) {
            throw traced(operation.error);
        }
    }

    private static MemcacheException traced(MemcacheException error) {
        StackTraceElement[] trace = new Throwable().getStackTrace();
        error.setStackTrace(Arrays.copyOfRange(trace, 1, trace.length));
        return error;
    }

    /** Reads into a buffer; the flags of the value, -1 for none. */
    long readInto(Operation operation, ByteBuffer target) {
        if (target.isReadOnly()) {
            throw new ReadOnlyBufferException();
        }
        operation.target = target;
        Operation done = read(operation);
        if (done.outcome != Operation.Outcome.DONE) {
            return -1;
        }
        if (done.value != null) {
            byte[] bytes = value(done).bytes();
            if (bytes.length > target.remaining()) {
                throw traced(new TooLarge(bytes.length, target.remaining()));
            }
            target.put(bytes);
        }
        return Integer.toUnsignedLong(done.flags & ~Value.COMPRESSED);
    }

    /** The value of a read that is done; {@code null} where there is none. */
    Value value(Operation operation) {
        if (operation.outcome != Operation.Outcome.DONE) {
            return null;
        }
        byte[] bytes = operation.value;
        int flags = operation.flags;
        if ((flags & Value.COMPRESSED) != 0) {
            bytes = Compression.decompress(bytes, valueBytesMax);
            flags &= ~Value.COMPRESSED;
        }
        return new Value(bytes, flags, operation.command == Command.GET ? 0 : operation.number);
    }

    /** Asks every server, all at the same time. */
    <T> Map<Address, Outcome<T>> ofEach(
            Command command, byte[] line, long timeout, Function<byte[], T> read) {
        Map<Address, Outcome<T>> outcomes = new LinkedHashMap<>();
        Operation[] operations = new Operation[servers.size()];
        for (int at = 0; at < operations.length; at++) {
            Operation operation = operation(command, new byte[0], false, timeout);
            operation.value = line;
            Server server = servers.get(at);
            // In their order, also where one fails at once.
            outcomes.put(server.connection.address(), null);
            try {
                submit(server, operation, false);
                operations[at] = operation;
            } catch (MemcacheException error) {
                outcomes.put(server.connection.address(), Outcome.failed(error));
            }
        }
        send();
        for (int at = 0; at < operations.length; at++) {
            if (operations[at] != null) {
                Server server = servers.get(at);
                Outcome<T> outcome;
                try {
                    await(server, operations[at]);
                    outcome = Outcome.of(read.apply(operations[at].value));
                } catch (MemcacheException error) {
                    outcome = Outcome.failed(error);
                }
                outcomes.put(server.connection.address(), outcome);
            }
        }
        return outcomes;
    }

    /** Writes the reads that were submitted. */
    void send() {
        servers.forEach(server -> server.connection.send());
    }
}
