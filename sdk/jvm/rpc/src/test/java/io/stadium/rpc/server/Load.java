package io.stadium.rpc.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.StreamHandler;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Two hundred in flight: each answer sends the next request. */
final class Load implements StreamHandler {
    private final RSocket rsocket;
    private final ByteBuf metadata = Unpooled.wrappedBuffer(
            Caller.metadata("test/Echo", 60_000));
    private final byte[] request;
    private CompletableFuture<Void> done;
    private int toSend;
    private int toCome;

    Load(RSocket rsocket, byte[] request) {
        this.rsocket = rsocket;
        this.request = request;
    }

    void run(int calls) throws Exception {
        CompletableFuture<Void> ended = new CompletableFuture<>();
        rsocket.execute(() -> {
            done = ended;
            toSend = calls;
            toCome = calls;
            for (int nth = 0; nth < 200; nth++) {
                send();
            }
        });
        ended.get(Caller.SOON_S, TimeUnit.SECONDS);
    }

    private void send() {
        if (toSend-- > 0) {
            rsocket.request(Interaction.REQUEST_RESPONSE, 1, Completion.COMPLETE, this,
                    metadata, request, PayloadWriter.BYTES);
        }
    }

    @Override
    public void onPayload(RSocket connection, int stream, Payload payload) {
        if (--toCome == 0) {
            done.complete(null);
        } else {
            send();
        }
    }

    @Override
    public void onError(RSocket connection, int stream, int code, Payload text) {
        done.completeExceptionally(new AssertionError(text.dataUtf8()));
    }
}
