package io.stadium.rpc.client;

import io.netty.buffer.Unpooled;
import io.stadium.rpc.Method;
import io.stadium.rpc.ProtocolError;
import io.stadium.rpc.RpcException;
import io.stadium.rsocket.connection.Payload;
import java.io.IOException;

/** A call with one answer, or of a one-way method with none. */
final class UnaryCall<A> extends Call {
    private final AnswerHandler<? super A> handler;

    UnaryCall(
            ClientLoop loop, Route route, Object request, CallOptions options,
            AnswerHandler<? super A> handler) {
        super(loop, route, request, options);
        this.handler = handler;
    }

    @Override
    void onValue(int which, Payload payload) {
        if (!loop.answers.answered(this, which)) {
            return;
        }
        A answer;
        try {
            answer = decode(its(), payload.data(), payload.dataIndex(), payload.dataLength());
        } catch (IOException | RuntimeException e) {
            loop.answers.end(this, new ProtocolError(e.toString()));
            return;
        }
        finish(answer);
    }

    @Override
    void onDone(int which) {
        if (!loop.answers.answered(this, which)) {
            return;
        }
        A answer;
        try {
            answer = its().answers().read(Unpooled.EMPTY_BUFFER);
        } catch (IOException | RuntimeException e) {
            loop.answers.end(this, new ProtocolError(e.toString()));
            return;
        }
        finish(answer);
    }

    private void finish(A answer) {
        loop.answers.close(this, null);
        try {
            handler.onAnswer(answer);
        } catch (Throwable e) {
            ClientLoop.LOG.error("Handler failed: route={}", route.method, e);
        }
    }

    /** The method that this call was made with. */
    @SuppressWarnings("unchecked")
    private Method<?, A> its() {
        return (Method<?, A>) route.method;
    }

    @Override
    void onEnd(RpcException failure) {
        try {
            if (failure == null) {
                handler.onAnswer(null);
            } else {
                handler.onFailure(failure);
            }
        } catch (Throwable e) {
            ClientLoop.LOG.error("Handler failed: route={}", route.method, e);
        }
    }
}
