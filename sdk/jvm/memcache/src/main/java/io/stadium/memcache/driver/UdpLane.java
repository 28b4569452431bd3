package io.stadium.memcache.driver;

import io.stadium.memcache.MemcacheException;
import io.stadium.memcache.ProtocolError;
import io.stadium.memcache.protocol.Bytes;
import io.stadium.memcache.protocol.Datagram;
import io.stadium.memcache.protocol.Operation;
import io.stadium.memcache.protocol.Reassembly;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Supplier;

/**
 * A UDP socket to one server, and the requests of the caller that has it now.
 *
 * <p>Each request has a number of its own. Answers to other numbers, such as late ones, are
 * dropped.
 */
final class UdpLane {
    /**
     * Requests that are not answered. The receive buffer of a socket holds some 200 kB, which are
     * 64 answers of two datagrams.
     */
    private static final int WINDOW = 64;

    private static final int NUMBER_MASK = 0xffff;

    final InetSocketAddress peer;
    private final DatagramChannel channel;
    private final Bytes out = new Bytes();
    private int next = ThreadLocalRandom.current().nextInt() & NUMBER_MASK;

    private final ArrayDeque<Operation> unsent = new ArrayDeque<>();
    /** By their numbers, the oldest one first. */
    private final Map<Integer, Flight> flights = new LinkedHashMap<>();

    /** A request on its way. */
    private record Flight(Operation operation, long begun, Reassembly parts) {}

    UdpLane(InetSocketAddress peer, Selector selector) throws IOException {
        this.peer = peer;
        channel = DatagramChannel.open(peer.getAddress() instanceof Inet4Address
                ? StandardProtocolFamily.INET : StandardProtocolFamily.INET6);
        try {
            // The kernel drops datagrams of all others.
            channel.connect(peer);
            channel.configureBlocking(false);
            channel.register(selector, SelectionKey.OP_READ);
        } catch (IOException error) {
            channel.close();
            throw error;
        }
    }

    void add(Operation operation) {
        unsent.add(operation);
    }

    boolean isDone() {
        return unsent.isEmpty() && flights.isEmpty();
    }

    /** Sends as many requests as may be under way. */
    void send(long now) throws IOException {
        while (flights.size() < WINDOW && !unsent.isEmpty()) {
            Operation operation = unsent.peek();
            out.clear();
            Datagram.request(out, next, operation);
            if (channel.write(ByteBuffer.wrap(out.array(), 0, out.length())) == 0) {
                return;
            }
            unsent.remove();
            flights.put(next, new Flight(operation, now, new Reassembly()));
            next = next + 1 & NUMBER_MASK;
        }
    }

    /** Takes the answers that are there. */
    void receive(ByteBuffer buffer, int valueBytesMax) throws IOException {
        while (!flights.isEmpty()) {
            buffer.clear();
            if (channel.read(buffer) <= 0) {
                return;
            }
            Datagram datagram = Datagram.read(buffer.flip());
            Flight flight = datagram == null ? null : flights.get(datagram.request());
            byte[] answer =
                    flight == null ? null : flight.parts.add(datagram, valueBytesMax);
            if (answer != null) {
                flights.remove(datagram.request());
                finish(flight.operation, answer, valueBytesMax);
            }
        }
    }

    private static void finish(Operation operation, byte[] answer, int valueBytesMax) {
        try {
            Datagram.answer(operation, answer, valueBytesMax);
        } catch (ProtocolError error) {
            operation.error = error;
        }
        end(operation);
    }

    /** Ends the requests that wait for longer than {@code patience}. */
    void expire(long now, long patience, Supplier<MemcacheException> error) {
        Iterator<Flight> oldest = flights.values().iterator();
        while (oldest.hasNext()) {
            Flight flight = oldest.next();
            if (now - flight.begun < patience) {
                return;
            }
            oldest.remove();
            fail(flight.operation, error);
        }
    }

    /** Nanoseconds until the next request expires, or the socket may take one. */
    long left(long now, long patience, long retry) {
        if (flights.isEmpty()) {
            return isDone() ? Long.MAX_VALUE : retry;
        }
        return flights.values().iterator().next().begun + patience - now;
    }

    /** Ends every request with an error. */
    void fail(Supplier<MemcacheException> error) {
        flights.values().forEach(flight -> fail(flight.operation, error));
        flights.clear();
        unsent.forEach(operation -> fail(operation, error));
        unsent.clear();
    }

    static void fail(Operation operation, Supplier<MemcacheException> error) {
        operation.error = error.get();
        end(operation);
    }

    private static void end(Operation operation) {
        operation.finish();
        if (operation.listener != null) {
            operation.took(System.nanoTime());
            Driver.call(operation.listener, null);
        }
    }

    void close() {
        try {
            channel.close();
        } catch (IOException ignored) {
            // It is gone in any case.
        }
    }
}
