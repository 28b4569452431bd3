package io.stadium.rsocket.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Payload;
import java.util.concurrent.CompletableFuture;

/** Completes a future with the response of a request-response. */
final class FutureHandler implements StreamHandler {
    private static final byte[] EMPTY = new byte[0];

    private final CompletableFuture<byte[]> future;

    FutureHandler(CompletableFuture<byte[]> future) {
        this.future = future;
    }

    static ByteBuf wrap(byte[] bytes) {
        return bytes == null ? null : Unpooled.wrappedBuffer(bytes);
    }

    @Override
    public void onPayload(RSocket rsocket, int streamId, Payload payload) {
        future.complete(payload.dataBytes());
    }

    @Override
    public void onComplete(RSocket rsocket, int streamId) {
        future.complete(EMPTY);
    }

    @Override
    public void onError(RSocket rsocket, int streamId, int code, Payload text) {
        future.completeExceptionally(new RSocketException(code, text.dataUtf8()));
    }

    @Override
    public void onClosed(RSocket rsocket, int streamId, Closed closed) {
        future.completeExceptionally(new RSocketException(closed.code(), "the connection ended: "
                + closed));
    }
}
