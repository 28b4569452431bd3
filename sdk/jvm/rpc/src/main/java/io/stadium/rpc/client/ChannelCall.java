package io.stadium.rpc.client;

import io.stadium.rpc.Method;
import io.stadium.rpc.RpcException;
import io.stadium.rsocket.connection.CancelScope;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.SendResult;
import io.stadium.rsocket.netty.RSocket;
import java.util.ArrayDeque;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** A call with a stream of requests. They leave as the service gives credit. */
final class ChannelCall<Q, A> extends StreamCall<A> {
    /**
     * Requests that wait for the service's credit. Enough to fill a connection; a service that is
     * slower than that slows its caller down.
     */
    private static final int WAITING_MAX = 1_024;

    /** Requests that wait; the loop alone uses it. */
    private final ArrayDeque<Q> messages = new ArrayDeque<>();

    private boolean isComplete;
    private boolean isCompleteSent;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition room = lock.newCondition();

    /** Requests that wait, or are on their way to the loop; guarded by the lock. */
    private int waiting;

    /** The service takes no more requests, or the caller has sent its last; guarded. */
    private boolean isRefused;

    ChannelCall(
            ClientLoop loop, Route route, Object request, CallOptions options, int credit,
            StreamSink<A> sink) {
        super(loop, route, request, options, credit, sink);
    }

    /** A channel is never made again: what its caller has sent is gone. */
    @Override
    boolean hasBegun() {
        return true;
    }

    @Override
    boolean completes() {
        return false;
    }

    @Override
    void onSent() {
        send();
    }

    /**
     * Takes a request, from any thread. Waits for room for a time. Returns whether it was taken;
     * {@code null} where the channel takes no more.
     */
    Boolean offer(Q message, long nanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = nanos;
            while (!isRefused && waiting >= WAITING_MAX) {
                if (left <= 0) {
                    return false;
                }
                left = room.awaitNanos(left);
            }
            if (isRefused) {
                return null;
            }
            waiting++;
            // Under the lock, so that requests keep their order and none follows the last.
            loop.later(() -> {
                if (isEnded) {
                    return;
                }
                messages.add(message);
                send();
            });
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** The caller has sent its last request. */
    void complete() {
        lock.lock();
        try {
            if (!isRefused) {
                refuseLocked();
                loop.later(() -> {
                    isComplete = true;
                    send();
                });
            }
        } finally {
            lock.unlock();
        }
    }

    private void refuseLocked() {
        isRefused = true;
        room.signalAll();
    }

    private void refuse() {
        lock.lock();
        try {
            refuseLocked();
        } finally {
            lock.unlock();
        }
    }

    /** Sends as much as credit and the connection's queue allow. */
    @SuppressWarnings("unchecked")
    void send() {
        if (isEnded || link == null || isCompleteSent) {
            return;
        }
        int sent = 0;
        SendResult result = SendResult.SENT;
        while (!messages.isEmpty() && result == SendResult.SENT) {
            if (!link.rsocket.isWritable()) {
                link.pause(this);
                break;
            }
            try {
                result = link.rsocket.payload(streamId, Completion.OPEN, null, messages.peek(),
                        ((Method<Q, A>) route.method).requests());
            } catch (RuntimeException e) {
                loop.answers.end(this, new io.stadium.rpc.Rejected("RPC-004",
                        "a request cannot be written: " + e));
                return;
            }
            if (result == SendResult.SENT) {
                messages.poll();
                sent++;
            }
        }
        if (sent > 0) {
            free(sent);
        }
        if (result == SendResult.TOO_LARGE) {
            // The service would miss it among the others.
            loop.answers.end(this, CallEnds.tooLarge());
        } else if (messages.isEmpty() && isComplete) {
            isCompleteSent = true;
            link.rsocket.complete(streamId);
        }
    }

    private void free(int count) {
        lock.lock();
        try {
            waiting -= count;
            room.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void onRequestN(RSocket rsocket, int streamId, int n) {
        send();
    }

    @Override
    public void onCancel(RSocket rsocket, int streamId, CancelScope scope) {
        messages.clear();
        isCompleteSent = true;
        refuse();
        if (scope == CancelScope.STREAM) {
            onDone(0);
        }
    }

    @Override
    void onEnd(RpcException failure) {
        messages.clear();
        refuse();
        super.onEnd(failure);
    }

    /** Nanoseconds that never end. */
    static final long FOREVER = TimeUnit.DAYS.toNanos(10_000);
}
