package io.stadium.rpc.client;

import io.stadium.rpc.Cancelled;
import io.stadium.rpc.DeadlineExceeded;
import io.stadium.rpc.RpcException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The messages of a stream, for a reader that waits.
 *
 * <p>At most the credit that the stream was opened with is kept here; as messages are taken, the
 * service may send more. A reader that is slow slows its service down, and no other stream. One
 * thread at a time reads; virtual threads are not pinned. {@link #close} gives the stream up.
 *
 * @param <A> messages
 */
public final class RpcStream<A> implements Iterator<A>, AutoCloseable {
    private final RpcClient client;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition news = lock.newCondition();
    private final ArrayDeque<A> items = new ArrayDeque<>();

    /** Messages taken after which credit is given in one frame. */
    private final int worth;

    private StreamCall<A> call;
    private int taken;
    private boolean isOver;
    private boolean isClosed;
    private RpcException failure;

    private final StreamSink<A> sink = new StreamSink<>() {
        @Override
        public void onItem(A item) {
            lock.lock();
            try {
                if (!isClosed) {
                    items.add(item);
                    news.signalAll();
                }
            } finally {
                lock.unlock();
            }
        }

        @Override
        public void onEnd(RpcException why) {
            lock.lock();
            try {
                isOver = true;
                failure = why;
                news.signalAll();
            } finally {
                lock.unlock();
            }
        }
    };

    RpcStream(RpcClient client, int credit) {
        this.client = client;
        worth = (credit + 1) / 2;
    }

    StreamSink<A> sink() {
        return sink;
    }

    void begun(StreamCall<A> its) {
        call = its;
    }

    /**
     * Waits until a message is there or the stream has ended.
     *
     * @return whether {@link #next} has a message
     * @throws RpcException the stream ended badly; all messages before that were read.
     *     {@link Cancelled} where the thread was interrupted, which it is still afterwards: the
     *     stream is closed
     */
    @Override
    public boolean hasNext() {
        return awaitItem(ChannelCall.FOREVER);
    }

    /**
     * Waits for the next message.
     *
     * @return the message
     * @throws NoSuchElementException the service has sent its last message
     * @throws RpcException as {@link #hasNext}
     */
    @Override
    public A next() {
        if (!awaitItem(ChannelCall.FOREVER)) {
            throw new NoSuchElementException("the stream has ended");
        }
        return take();
    }

    /**
     * Waits for the next message for a time.
     *
     * @param atMost the time
     * @return the message; {@code null} where the service has sent its last one
     * @throws DeadlineExceeded none came within the time; the stream goes on
     * @throws RpcException as {@link #hasNext}
     */
    public A next(Duration atMost) {
        return awaitItem(atMost.toNanos()) ? take() : null;
    }

    private boolean awaitItem(long nanos) {
        lock.lock();
        try {
            if (items.isEmpty() && !isOver) {
                client.checkMayBlock();
            }
            long left = nanos;
            while (items.isEmpty() && !isOver) {
                if (left <= 0) {
                    throw new DeadlineExceeded();
                }
                left = news.awaitNanos(left);
            }
            if (items.isEmpty() && failure != null) {
                throw RpcClient.traced(failure);
            }
            return !items.isEmpty();
        } catch (InterruptedException e) {
            close();
            Thread.currentThread().interrupt();
            throw RpcClient.traced(new Cancelled());
        } finally {
            lock.unlock();
        }
    }

    private A take() {
        int credit = 0;
        A item;
        lock.lock();
        try {
            item = items.poll();
            taken++;
            if (taken >= worth && !isOver) {
                credit = taken;
                taken = 0;
            }
        } finally {
            lock.unlock();
        }
        if (credit > 0) {
            call.request(credit);
        }
        return item;
    }

    /** Gives the stream up, from any thread; a stream that has ended is not affected. */
    @Override
    public void close() {
        lock.lock();
        try {
            isClosed = true;
            items.clear();
        } finally {
            lock.unlock();
        }
        call.cancel();
    }
}
