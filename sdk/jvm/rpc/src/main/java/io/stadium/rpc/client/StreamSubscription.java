package io.stadium.rpc.client;

import io.stadium.rpc.RpcException;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantLock;

/** One subscriber of a stream; its first request makes the call. */
final class StreamSubscription<A> implements Flow.Subscription, StreamSink<A> {
    private final Flow.Subscriber<? super A> subscriber;
    private final Maker<A> maker;
    private final AtomicBoolean isOver = new AtomicBoolean();
    private final ReentrantLock lock = new ReentrantLock();

    /** {@code null} until the first request; guarded. */
    private StreamCall<A> call;

    /** Makes the call with its first credit. */
    interface Maker<A> {
        StreamCall<A> make(StreamSink<A> sink, int credit);
    }

    StreamSubscription(Flow.Subscriber<? super A> subscriber, Maker<A> maker) {
        this.subscriber = subscriber;
        this.maker = maker;
    }

    void begin() {
        subscriber.onSubscribe(this);
    }

    @Override
    public void request(long n) {
        if (isOver.get()) {
            return;
        }
        if (n <= 0) {
            cancel();
            subscriber.onError(new IllegalArgumentException("a request is at least 1, not " + n));
            return;
        }
        int credit = (int) Math.min(n, Integer.MAX_VALUE);
        StreamCall<A> made = null;
        lock.lock();
        try {
            if (call == null) {
                call = maker.make(this, credit);
                made = call;
            }
        } finally {
            lock.unlock();
        }
        if (made != null) {
            made.loop.submit(made);
        } else {
            call.request(credit);
        }
    }

    @Override
    public void cancel() {
        isOver.set(true);
        StreamCall<A> its;
        lock.lock();
        try {
            its = call;
        } finally {
            lock.unlock();
        }
        if (its != null) {
            its.cancel();
        }
    }

    @Override
    public void onItem(A item) {
        if (isOver.get()) {
            return;
        }
        try {
            subscriber.onNext(item);
        } catch (Throwable e) {
            ClientLoop.LOG.error("Subscriber failed", e);
            cancel();
        }
    }

    @Override
    public void onEnd(RpcException failure) {
        if (!isOver.compareAndSet(false, true)) {
            return;
        }
        try {
            if (failure == null) {
                subscriber.onComplete();
            } else {
                subscriber.onError(failure);
            }
        } catch (Throwable e) {
            ClientLoop.LOG.error("Subscriber failed", e);
        }
    }
}
