package io.stadium.rsocket.netty;

import io.netty.buffer.ByteBuf;
import io.stadium.rsocket.connection.CancelScope;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.frame.Interaction;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A service for tests. A request-response returns its data, a stream counts to 1,000, a channel
 * returns each value.
 */
final class Echoes implements RSocketHandler {
    static final int STREAM_VALUES = 1_000;

    final Queue<String> forgotten = new ConcurrentLinkedQueue<>();
    final Queue<Closed> closed = new ConcurrentLinkedQueue<>();
    final AtomicInteger cancelled = new AtomicInteger();

    @Override
    public void onRequest(
            RSocket rsocket, int streamId, Interaction interaction, int initialRequestN,
                    Payload payload) {
        switch (interaction) {
            case REQUEST_RESPONSE -> {
                ByteBuf data = payload.retainData();
                rsocket.payload(streamId, Completion.COMPLETE, null, data, PayloadWriter.BUFFER);
                data.release();
            }
            case FIRE_AND_FORGET -> forgotten.add(payload.dataUtf8());
            case REQUEST_STREAM -> {
                Counter counter = new Counter();
                rsocket.handle(streamId, counter);
                counter.go(rsocket, streamId);
            }
            case REQUEST_CHANNEL -> {
                rsocket.handle(streamId, new Echo());
                rsocket.payload(streamId, Completion.OPEN, null, payload.dataBytes(),
                        PayloadWriter.BYTES);
                rsocket.requestN(streamId, 1);
            }
        }
    }

    @Override
    public void onClosed(RSocket rsocket, Closed closed) {
        this.closed.add(closed);
    }

    /** Sends numbers as its credit allows. */
    private final class Counter implements StreamHandler {
        private int next = 1;

        void go(RSocket rsocket, int streamId) {
            while (next <= STREAM_VALUES && rsocket.credit(streamId) > 0) {
                Completion completion = next == STREAM_VALUES ? Completion.COMPLETE
                        : Completion.OPEN;
                byte[] data = Integer.toString(next++).getBytes();
                rsocket.payload(streamId, completion, null, data, PayloadWriter.BYTES);
            }
        }

        @Override
        public void onRequestN(RSocket rsocket, int streamId, int n) {
            go(rsocket, streamId);
        }

        @Override
        public void onCancel(RSocket rsocket, int streamId, CancelScope scope) {
            cancelled.incrementAndGet();
        }
    }

    /** Returns each value of a channel, and completes with the requester. */
    private static final class Echo implements StreamHandler {
        @Override
        public void onPayload(RSocket rsocket, int streamId, Payload payload) {
            Completion completion = payload.isComplete() ? Completion.COMPLETE : Completion.OPEN;
            rsocket.payload(streamId, completion, null, payload.dataBytes(), PayloadWriter.BYTES);
            rsocket.requestN(streamId, 1);
        }

        @Override
        public void onComplete(RSocket rsocket, int streamId) {
            rsocket.complete(streamId);
        }
    }
}
