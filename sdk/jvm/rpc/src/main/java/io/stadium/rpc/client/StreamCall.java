package io.stadium.rpc.client;

import io.stadium.rpc.Method;
import io.stadium.rpc.ProtocolError;
import io.stadium.rpc.RpcException;
import io.stadium.rsocket.connection.Payload;
import java.io.IOException;

/** A call whose answer is a stream. */
class StreamCall<A> extends Call {
    private final StreamSink<A> sink;
    private int credit;
    private boolean hasBegun;

    StreamCall(
            ClientLoop loop, Route route, Object request, CallOptions options, int credit,
            StreamSink<A> sink) {
        super(loop, route, request, options);
        this.credit = credit;
        this.sink = sink;
    }

    @Override
    boolean isStream() {
        return true;
    }

    @Override
    boolean hasBegun() {
        return hasBegun;
    }

    @Override
    int initialRequestN() {
        return credit;
    }

    /** Lets the service send more messages, from any thread. */
    void request(int n) {
        loop.execute(() -> {
            if (!hasBegun) {
                // An attempt that is made again begins with all of it.
                credit = credit + n < 0 ? Integer.MAX_VALUE : credit + n;
            }
            if (link != null && !isEnded) {
                link.rsocket.requestN(streamId, n);
            }
        });
    }

    @Override
    @SuppressWarnings("unchecked")
    void onValue(int which, Payload payload) {
        if (isEnded || link == null) {
            return;
        }
        hasBegun = true;
        A item;
        try {
            item = decode((Method<?, A>) route.method, payload.data(), payload.dataIndex(),
                    payload.dataLength());
        } catch (IOException | RuntimeException e) {
            loop.answers.end(this, new ProtocolError(e.toString()));
            return;
        }
        boolean isLast = payload.isComplete();
        sink.onItem(item);
        if (isLast && !isEnded) {
            loop.answers.completed(this);
        }
    }

    @Override
    void onDone(int which) {
        if (!isEnded) {
            loop.answers.completed(this);
        }
    }

    @Override
    void onEnd(RpcException failure) {
        sink.onEnd(failure);
    }
}
