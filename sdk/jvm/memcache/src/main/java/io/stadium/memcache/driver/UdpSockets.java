package io.stadium.memcache.driver;

import io.stadium.memcache.DeadlineExceeded;
import io.stadium.memcache.Disconnected;
import io.stadium.memcache.Interrupted;
import io.stadium.memcache.MemcacheException;
import io.stadium.memcache.protocol.Operation;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Selector;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * Gets over UDP, which may be lost: the caller sends and receives itself, on sockets of its own.
 *
 * <p>A request without a whole answer ends at its own deadline, which is earlier than the caller's.
 * Sockets that no caller uses are kept for the next one.
 */
public final class UdpSockets {
    /** Callers whose sockets are kept; each has one for a server. */
    private static final int KEPT = 16;

    private static final int DATAGRAM_BYTES_MAX = 65_535;

    /** A socket that took nothing soon does. */
    private static final long RETRY = TimeUnit.MILLISECONDS.toNanos(1);

    private final long patience;
    private final int valueBytesMax;
    private final ArrayDeque<Lanes> kept = new ArrayDeque<>();
    private boolean isClosed;

    /** A get, its server, and the address to which it goes. It is finished when it ends. */
    public record Request(Operation operation, Connection server, InetSocketAddress peer) {}

    /** The sockets of one caller. */
    private static final class Lanes {
        final Selector selector;
        final ByteBuffer buffer = ByteBuffer.allocateDirect(DATAGRAM_BYTES_MAX);
        final Map<Connection, UdpLane> lanes = new HashMap<>();

        Lanes() throws IOException {
            selector = Selector.open();
        }

        void close() {
            lanes.values().forEach(UdpLane::close);
            try {
                selector.close();
            } catch (IOException ignored) {
                // It is gone in any case.
            }
        }
    }

    /**
     * The sockets of a client.
     *
     * @param patience nanoseconds of one request
     */
    public UdpSockets(long patience, int valueBytesMax) {
        this.patience = patience;
        this.valueBytesMax = valueBytesMax;
    }

    /** Runs requests until each has its answer, or its time or the deadline is over. */
    public void exchange(List<Request> requests, long deadline) {
        Lanes lanes;
        try {
            lanes = take();
        } catch (IOException error) {
            requests.forEach(one -> UdpLane.fail(one.operation, disconnected(error)));
            return;
        }
        boolean isWhole = false;
        try {
            requests.forEach(one -> assign(one, lanes));
            while (turn(lanes, deadline)) {
                receive(lanes);
            }
            isWhole = true;
        } catch (IOException error) {
            failAll(lanes, disconnected(error));
        } finally {
            keep(lanes, isWhole);
        }
    }

    private static void assign(Request request, Lanes lanes) {
        UdpLane lane = lanes.lanes.get(request.server);
        try {
            if (lane != null && lane.isDone() && !lane.peer.equals(request.peer)) {
                // The name of the server has another address now.
                lane.close();
                lane = null;
            }
            if (lane == null) {
                lane = new UdpLane(request.peer, lanes.selector);
                lanes.lanes.put(request.server, lane);
            }
            lane.add(request.operation);
        } catch (IOException error) {
            UdpLane.fail(request.operation, disconnected(error));
        }
    }

    /** Sends what may be sent, and waits; {@code false} where all requests ended. */
    private boolean turn(Lanes lanes, long deadline) throws IOException {
        long now = System.nanoTime();
        long left = deadline - now;
        if (Thread.currentThread().isInterrupted()) {
            failAll(lanes, Interrupted::new);
        } else if (left <= 0) {
            failAll(lanes, DeadlineExceeded::new);
        }
        boolean isDone = true;
        for (UdpLane lane : List.copyOf(lanes.lanes.values())) {
            lane.expire(now, patience, DeadlineExceeded::new);
            try {
                lane.send(now);
            } catch (IOException error) {
                drop(lanes, lane, error);
            }
            left = Math.min(left, lane.left(now, patience, RETRY));
            isDone &= lane.isDone();
        }
        if (!isDone) {
            // Rounded up: a wait of 0 has no end.
            long millis = TimeUnit.NANOSECONDS.toMillis(Math.max(left, 0)) + 1;
            lanes.selector.select(one -> { }, millis);
        }
        return !isDone;
    }

    private void receive(Lanes lanes) {
        for (UdpLane lane : List.copyOf(lanes.lanes.values())) {
            try {
                lane.receive(lanes.buffer, valueBytesMax);
            } catch (IOException error) {
                drop(lanes, lane, error);
            }
        }
    }

    private static void drop(Lanes lanes, UdpLane lane, IOException error) {
        lanes.lanes.values().remove(lane);
        lane.close();
        lane.fail(disconnected(error));
    }

    private static void failAll(Lanes lanes, Supplier<MemcacheException> error) {
        lanes.lanes.values().forEach(lane -> lane.fail(error));
    }

    private static Supplier<MemcacheException> disconnected(IOException error) {
        String text = Driver.text(error);
        return () -> new Disconnected(text);
    }

    private Lanes take() throws IOException {
        synchronized (this) {
            if (isClosed) {
                throw new IOException("the client is closed");
            }
            Lanes lanes = kept.poll();
            if (lanes != null) {
                return lanes;
            }
        }
        return new Lanes();
    }

    private void keep(Lanes lanes, boolean isWhole) {
        synchronized (this) {
            if (isWhole && !isClosed && kept.size() < KEPT) {
                kept.push(lanes);
                return;
            }
        }
        lanes.close();
    }

    /** Closes the sockets that no caller uses; the others are closed by their callers. */
    public void close() {
        synchronized (this) {
            isClosed = true;
            kept.forEach(Lanes::close);
            kept.clear();
        }
    }
}
