package io.stadium.rpc.client;

import io.netty.buffer.ByteBuf;
import io.stadium.rpc.Method;
import io.stadium.rpc.RpcException;
import io.stadium.rsocket.connection.CancelScope;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.StreamHandler;
import java.io.IOException;

/**
 * A call from its beginning to its end, with up to two attempts at a time: the first one and, for
 * idempotent methods, a copy. Its event loop alone changes it.
 *
 * <p>It is one object, itself the handler of its first attempt's stream. It is not pooled: a young
 * object costs less than a pool that is shared by threads, and no event of an earlier call can
 * reach a later one.
 */
abstract class Call implements StreamHandler, CallHandle {
    final ClientLoop loop;
    final Route route;
    final Object request;

    /** {@code null} for none. */
    final CallOptions options;

    /** Links of the wheel's list. */
    Call next;

    Call previous;

    /** When the wheel looks at it; {@link TimerWheel#UNARMED} where it is in no bucket. */
    long tick = TimerWheel.UNARMED;

    long beganUs;

    /** {@link TimerWheel#NEVER} for a stream without one. */
    long deadlineUs = TimerWheel.NEVER;

    /** When a copy is due. */
    long hedgeUs = TimerWheel.NEVER;

    /** The first attempt's connection; {@code null} while there is no attempt. */
    Link link;

    int streamId;
    long sentUs;

    /** What only calls need that are made again, or have a copy; {@code null} otherwise. */
    Extra extra;

    /** Attempts so far. */
    byte made;

    /** In the queue for a connection. */
    boolean isWaiting;

    boolean isEnded;

    Call(ClientLoop loop, Route route, Object request, CallOptions options) {
        this.loop = loop;
        this.route = route;
        this.request = request;
        this.options = options;
    }

    /** What a call needs when its first attempt was not answered soon. */
    static final class Extra implements StreamHandler {
        /** Instances that a call remembers to have failed. */
        private static final int TRIED_MAX = 4;

        private final Call call;
        private final int[] tried = new int[TRIED_MAX];
        private int triedCount;

        /** When the next attempt is due after a wait. */
        long againUs = TimerWheel.NEVER;

        /** The copy's connection; {@code null} while there is no copy. */
        Link link;

        int streamId;
        long sentUs;

        Extra(Call call) {
            this.call = call;
        }

        @Override
        public void onPayload(RSocket rsocket, int streamId, Payload payload) {
            call.onValue(1, payload);
        }

        @Override
        public void onComplete(RSocket rsocket, int streamId) {
            call.onDone(1);
        }

        @Override
        public void onError(RSocket rsocket, int streamId, int code, Payload text) {
            call.loop.answers.failed(call, 1, code, text.dataUtf8());
        }

        @Override
        public void onClosed(RSocket rsocket, int streamId, Closed closed) {
            call.loop.broken.add(call, 1, link, streamId, closed);
        }
    }

    Extra extra() {
        if (extra == null) {
            extra = new Extra(this);
        }
        return extra;
    }

    Method<?, ?> method() {
        return route.method;
    }

    boolean isInFlight() {
        return link != null || extra != null && extra.link != null;
    }

    /** Whether it is the first attempt that is to be made. */
    boolean isFresh() {
        return link == null && (extra == null || extra.triedCount == 0);
    }

    byte[] key() {
        return options == null ? null : options.key();
    }

    long againUs() {
        return extra == null ? TimerWheel.NEVER : extra.againUs;
    }

    /** The next time at which the wheel has to look at it. */
    long dueUs() {
        return Math.min(Math.min(deadlineUs, hedgeUs), againUs());
    }

    void hasFailedAt(int instance) {
        Extra its = extra();
        if (its.triedCount < Extra.TRIED_MAX) {
            its.tried[its.triedCount++] = instance;
        }
    }

    /** Collects the instances to avoid: those that failed, and those that are at it. */
    int avoided(int[] room) {
        int count = 0;
        if (extra != null) {
            for (; count < extra.triedCount; count++) {
                room[count] = extra.tried[count];
            }
            if (extra.link != null) {
                room[count++] = extra.link.instance();
            }
        }
        if (link != null) {
            room[count++] = link.instance();
        }
        return count;
    }

    /** The instances that {@link #avoided} collects at most. */
    static final int AVOIDED_MAX = Extra.TRIED_MAX + 2;

    /** The connection of an attempt, or {@code null}. */
    Link linkOf(int which) {
        return which == 0 ? link : extra == null ? null : extra.link;
    }

    int streamOf(int which) {
        return which == 0 ? streamId : extra.streamId;
    }

    long sentUsOf(int which) {
        return which == 0 ? sentUs : extra.sentUs;
    }

    /** Forgets an attempt. */
    void clear(int which) {
        if (which == 0) {
            link = null;
        } else {
            extra.link = null;
        }
    }

    /** Notes an attempt. */
    void sent(int which, Link by, int stream, long nowUs) {
        if (which == 0) {
            link = by;
            streamId = stream;
            sentUs = nowUs;
        } else {
            extra.link = by;
            extra.streamId = stream;
            extra.sentUs = nowUs;
        }
    }

    /** Whether its stream delivers more than one answer. */
    boolean isStream() {
        return false;
    }

    /** Whether a message of a stream has arrived, or a channel is open: it is not made again. */
    boolean hasBegun() {
        return false;
    }

    /** The first credit of a stream. */
    int initialRequestN() {
        return 1;
    }

    /** Whether the request is the only message of the caller. */
    boolean completes() {
        return true;
    }

    /** An attempt has been sent. */
    void onSent() {}

    abstract void onValue(int which, Payload payload);

    abstract void onDone(int which);

    /** Notifies the caller, once, of an end that is not an answer with a value. */
    abstract void onEnd(RpcException failure);

    /** Decodes a message in place. */
    static <A> A decode(Method<?, A> method, ByteBuf buffer, int index, int length)
            throws IOException {
        int reader = buffer.readerIndex();
        int writer = buffer.writerIndex();
        try {
            return method.answers().read(buffer.setIndex(index, index + length));
        } finally {
            buffer.setIndex(reader, writer);
        }
    }

    @Override
    public void onPayload(RSocket rsocket, int streamId, Payload payload) {
        onValue(0, payload);
    }

    @Override
    public void onComplete(RSocket rsocket, int streamId) {
        onDone(0);
    }

    @Override
    public void onRequestN(RSocket rsocket, int streamId, int n) {}

    @Override
    public void onCancel(RSocket rsocket, int streamId, CancelScope scope) {}

    @Override
    public void onError(RSocket rsocket, int streamId, int code, Payload text) {
        loop.answers.failed(this, 0, code, text.dataUtf8());
    }

    @Override
    public void onClosed(RSocket rsocket, int streamId, Closed closed) {
        loop.broken.add(this, 0, link, streamId, closed);
    }

    @Override
    public void cancel() {
        loop.execute(() -> loop.answers.cancel(this));
    }

}
