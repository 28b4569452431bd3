package io.stadium.memcache.driver;

import io.stadium.memcache.Address;
import io.stadium.memcache.BadKey;
import io.stadium.memcache.Busy;
import io.stadium.memcache.DeadlineExceeded;
import io.stadium.memcache.Dialect;
import io.stadium.memcache.Disconnected;
import io.stadium.memcache.Interrupted;
import io.stadium.memcache.MemcacheException;
import io.stadium.memcache.NeedsMeta;
import io.stadium.memcache.TooLarge;
import io.stadium.memcache.protocol.Command;
import io.stadium.memcache.protocol.Operation;
import java.net.InetSocketAddress;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.regex.Pattern;

/**
 * A connection that its callers drive: no thread of its own reads answers.
 *
 * <p>The first caller that waits <em>turns</em> the connection: it lets others submit, writes for
 * all of them, reads answers for all of them, and wakes them.
 */
public final class Connection extends Driver {
    /** Bytes of writes that leave although no caller waits. */
    private static final int WRITES_BYTES_MAX = 16 << 10;

    private static final Pattern IPV4 = Pattern.compile("\\d{1,3}(\\.\\d{1,3}){3}");

    private final Address address;
    /** The port for gets over UDP; 0 for none. */
    private final int udp;

    /**
     * A connection, which begins with its first operation.
     *
     * @param udp the port for gets over UDP, 0 for none
     */
    public Connection(Address address, int udp, Settings settings) {
        super(settings);
        this.address = address;
        this.udp = udp;
    }

    public Address address() {
        return address;
    }

    /**
     * The place to which gets over UDP go. A name is not looked up here, where it could take any
     * time: the connection has its address.
     *
     * @throws IllegalStateException the server has no UDP port
     */
    public InetSocketAddress udpPeer(long deadline) {
        if (udp == 0 || !(address instanceof Address.Tcp tcp)) {
            throw new IllegalStateException(address + " has no UDP port");
        }
        if (tcp.host().contains(":") || IPV4.matcher(tcp.host()).matches()) {
            return new InetSocketAddress(tcp.host(), udp);
        }
        state.lock.lock();
        try {
            link(deadline);
            return new InetSocketAddress(state.peer, udp);
        } finally {
            state.lock.unlock();
        }
    }

    /** Connects where there is no connection yet. */
    public void connect(long deadline) {
        state.lock.lock();
        try {
            link(deadline);
        } finally {
            state.lock.unlock();
        }
    }

    /**
     * Takes an operation. Waits for a connection only.
     *
     * @param isWaiting the caller waits at once: the helper is not woken
     */
    public void submit(Operation operation, boolean isWaiting) {
        int bytes = operation.value == null ? 0 : operation.value.length;
        if (bytes > settings.valueBytesMax()) {
            throw new TooLarge(bytes, settings.valueBytesMax());
        }
        boolean hasNotices;
        state.lock.lock();
        try {
            if (state.wire == null || state.isClosed) {
                link(operation.deadline);
            }
            if (isFull(bytes)) {
                // The socket may not have been read for a while.
                pump();
                if (state.wire == null) {
                    throw state.disconnected();
                }
                if (isFull(bytes)) {
                    throw new Busy();
                }
            }
            if (state.dialect == Dialect.CLASSIC) {
                checkClassic(operation);
            }
            state.operations++;
            boolean isSet = operation.command == Command.SET;
            boolean isWrite = operation.command.isWrite();
            state.outbox.add(operation, isSet && state.isLoud(), isWrite ? System.nanoTime() : 0);
            if (!isWrite) {
                reads++;
                unsentReads++;
                hasWork = true;
            }
            if (state.outbox.writeBytes() >= WRITES_BYTES_MAX
                    || state.outbox.sealedBytes() >= WRITES_BYTES_MAX) {
                flush(true);
            }
            if (state.isHelperParked && !isWaiting && state.isBusy()) {
                callHelper();
            }
            hasNotices = state.wire == null;
        } finally {
            state.lock.unlock();
        }
        if (hasNotices) {
            notifyDone();
        }
    }

    /** Waits until there is a connection. Needs the lock. */
    private void link(long deadline) {
        while (state.wire == null || state.isClosed) {
            if (state.isClosed) {
                throw new Disconnected("the client is closed");
            }
            long now = System.nanoTime();
            if (now - deadline >= 0) {
                throw new DeadlineExceeded();
            }
            if (now - state.retryAt < 0) {
                throw state.disconnected();
            }
            int failures = state.failures;
            state.isWanted = true;
            if (!state.hasHelper) {
                Helper.start(this, address);
                state.hasHelper = true;
            }
            state.bell.signal();
            try {
                state.linked.awaitNanos(deadline - now);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new Interrupted();
            }
            if (state.wire == null && state.failures != failures) {
                throw state.disconnected();
            }
        }
    }

    private boolean isFull(int bytes) {
        if (state.operations >= settings.operationsMax()) {
            return true;
        }
        int unsent = state.unsentBytes();
        return unsent > 0 && unsent + (long) bytes > settings.unsentBytesMax();
    }

    private static void checkClassic(Operation operation) {
        String needs = switch (operation.command) {
            case LOOKUP -> "recaching";
            case INVALIDATE -> "invalidation";
            case INCR, DECR -> operation.expiry == Operation.ABSENT ? null : "an initial value";
            default -> null;
        };
        if (needs != null) {
            throw new NeedsMeta(needs);
        }
        if (operation.isBinary) {
            throw new BadKey("the key has bytes that the classic protocol cannot send, and the "
                    + "server has no other");
        }
    }

    private void callHelper() {
        state.isHelperParked = false;
        state.bell.signal();
    }

    /**
     * Waits for an operation that was submitted here.
     *
     * @throws DeadlineExceeded its deadline passed
     * @throws Interrupted the thread was interrupted
     */
    public void await(Operation operation) {
        waiting.incrementAndGet();
        try {
            awaitHere(operation);
        } finally {
            waiting.decrementAndGet();
        }
    }

    private void awaitHere(Operation operation) {
        boolean isForcing = operation.command.isWrite();
        boolean mayYield = true;
        while (!operation.isDone()) {
            Wire wire = null;
            long left;
            boolean isLeaving = true;
            boolean isTimed = false;
            state.lock.lock();
            try {
                if (operation.isDone()) {
                    break;
                }
                state.wakes(operation);
                if (isForcing) {
                    isForcing = false;
                    state.isForced = true;
                    hasWork = true;
                }
                left = operation.deadline - System.nanoTime();
                if (left <= 0) {
                    operation.target = null;
                    throw new DeadlineExceeded();
                }
                if (Thread.currentThread().isInterrupted()) {
                    operation.target = null;
                    throw new Interrupted();
                }
                if (!state.isTurning && state.wire != null) {
                    state.isTurning = true;
                    wire = state.wire;
                } else if ((state.isAsleep || isEveryoneIn()) && hasWork) {
                    hasWork = false;
                    flush(false);
                    isLeaving = false;
                    continue;
                } else if (mayYield && canYield()) {
                    mayYield = yieldFor(operation);
                    continue;
                } else {
                    state.sleeps(operation, Thread.currentThread());
                    // A timer costs a quarter of a sleep: the caller that turns keeps deadlines.
                    isTimed = !state.isTurning
                            || state.isAsleep && operation.deadline - state.wakesBy < 0;
                }
                isLeaving = false;
            } finally {
                Thread successor = isLeaving ? successor() : null;
                state.lock.unlock();
                if (successor != null) {
                    // This thread may have been the one that was to turn.
                    LockSupport.unpark(successor);
                }
            }
            if (wire != null) {
                turn(wire, operation, operation.deadline);
            } else if (isTimed) {
                LockSupport.parkNanos(this, left);
            } else {
                LockSupport.park(this);
            }
        }
    }

    /**
     * Calls the listener when the operation is done, or with the error at its deadline; at once
     * where it is done. The helper drives the connection for it.
     */
    public void listen(Operation operation, Consumer<MemcacheException> listener) {
        boolean isDone;
        state.lock.lock();
        try {
            isDone = operation.isDone();
            if (!isDone) {
                Consumer<MemcacheException> before = operation.listener;
                operation.listener = before == null ? listener : before.andThen(listener);
                state.driven.add(operation);
                state.isForced = true;
                hasWork = true;
                if (state.isAsleep) {
                    flush(true);
                } else if (!state.isTurning) {
                    callHelper();
                }
            }
        } finally {
            state.lock.unlock();
        }
        if (isDone) {
            listener.accept(null);
        }
    }

    /** Takes the listener away, where the operation is not done; {@code null} for none. */
    public Consumer<MemcacheException> takeListener(Operation operation) {
        state.lock.lock();
        try {
            Consumer<MemcacheException> listener = operation.isDone() ? null : operation.listener;
            if (listener != null) {
                operation.listener = null;
                operation.took(System.nanoTime());
            }
            return listener;
        } finally {
            state.lock.unlock();
        }
    }

    /**
     * Ends the connection. Writes that no caller waits for still leave: a helper reads what the
     * server owes for up to 200 ms, then closes. Operations after it fail.
     */
    public void close() {
        state.lock.lock();
        try {
            if (state.isClosed) {
                return;
            }
            if (state.wire != null && state.unsentBytes() > 0) {
                state.isForced = true;
                flush(true);
            }
            state.isClosed = true;
            state.bell.signalAll();
            state.linked.signalAll();
        } finally {
            state.lock.unlock();
        }
    }
}
