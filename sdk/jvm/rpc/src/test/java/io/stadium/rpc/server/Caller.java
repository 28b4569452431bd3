package io.stadium.rpc.server;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.fail;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.handler.ssl.SslContext;
import io.stadium.rpc.wire.RequestMetadata;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.connection.SetupOptions;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.metadata.CompositeMetadata;
import io.stadium.rsocket.metadata.Routing;
import io.stadium.rsocket.netty.EventLoops;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.RSocketClient;
import io.stadium.rsocket.netty.RSocketException;
import io.stadium.rsocket.netty.RSocketHandler;
import io.stadium.rsocket.netty.StreamHandler;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** A plain RSocket client with the metadata of RPC: nothing here retries or balances. */
final class Caller implements AutoCloseable {
    static final int SOON_S = 120;

    private final EventLoops loops = EventLoops.start(1);
    final BlockingQueue<byte[]> pushes = new LinkedBlockingQueue<>();
    final BlockingQueue<Integer> leases = new LinkedBlockingQueue<>();
    final CompletableFuture<Closed> closed = new CompletableFuture<>();
    final RSocket rsocket;

    Caller(RpcServer server) throws Exception {
        this(server, Config.DEFAULT, SetupOptions.DEFAULT, null);
    }

    Caller(RpcServer server, Config config, SetupOptions setup, SslContext tls) throws Exception {
        rsocket = new RSocketClient(loops).config(config).setup(setup).tls(tls)
                .handlers(() -> new RSocketHandler() {
                    @Override
                    public void onMetadataPush(RSocket connection, Payload metadata) {
                        pushes.add(metadata.metadataBytes());
                    }

                    @Override
                    public void onLease(RSocket connection, int ttlMs, int requests) {
                        leases.add(requests);
                    }

                    @Override
                    public void onClosed(RSocket connection, Closed why) {
                        closed.complete(why);
                    }
                })
                .connect(server.address()).get(SOON_S, TimeUnit.SECONDS);
    }

    static byte[] metadata(String route) {
        return metadata(route, -1);
    }

    static byte[] metadata(String route, int leftMs) {
        ByteBuf out = Unpooled.buffer();
        Routing.write(out, route);
        if (leftMs >= 0) {
            int entry = CompositeMetadata.begin(out, RequestMetadata.DEADLINE);
            out.writeInt(leftMs);
            CompositeMetadata.end(out, entry);
        }
        return ByteBufUtil.getBytes(out);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    CompletableFuture<byte[]> call(String route, String request) {
        return rsocket.requestResponse(metadata(route), bytes(request));
    }

    CompletableFuture<byte[]> call(String route, String request, int leftMs) {
        return rsocket.requestResponse(metadata(route, leftMs), bytes(request));
    }

    String answer(String route, String request) throws Exception {
        return text(call(route, request));
    }

    static String text(CompletableFuture<byte[]> answer) throws Exception {
        return new String(answer.get(SOON_S, TimeUnit.SECONDS), StandardCharsets.UTF_8);
    }

    /** The text of the ERROR frame that answers, behind the name of its code. */
    static String error(CompletableFuture<byte[]> answer) {
        ExecutionException e = assertThrows(
                ExecutionException.class, () -> answer.get(SOON_S, TimeUnit.SECONDS));
        return assertInstanceOf(RSocketException.class, e.getCause()).getMessage();
    }

    String error(String route, String request) {
        return error(call(route, request));
    }

    /** A stream or channel as its caller sees it. */
    final class Stream implements StreamHandler {
        final BlockingQueue<String> events = new LinkedBlockingQueue<>();
        final CompletableFuture<Integer> id = new CompletableFuture<>();

        String next() throws InterruptedException {
            String event = events.poll(SOON_S, TimeUnit.SECONDS);
            return event == null ? fail("nothing came") : event;
        }

        void send(String request, Completion completion) {
            rsocket.execute(() -> rsocket.payload(
                    id.join(), completion, null, bytes(request), PayloadWriter.BYTES));
        }

        void want(int n) {
            rsocket.execute(() -> rsocket.requestN(id.join(), n));
        }

        void cancel() {
            rsocket.execute(() -> rsocket.cancel(id.join()));
        }

        @Override
        public void onPayload(RSocket connection, int stream, Payload payload) {
            events.add(payload.dataUtf8());
            if (payload.isComplete()) {
                events.add("END");
            }
        }

        @Override
        public void onComplete(RSocket connection, int stream) {
            events.add("END");
        }

        @Override
        public void onError(RSocket connection, int stream, int code, Payload text) {
            events.add("ERROR " + text.dataUtf8());
        }

        @Override
        public void onRequestN(RSocket connection, int stream, int n) {
            events.add("CREDIT " + n);
        }
    }

    Stream open(Interaction interaction, byte[] metadata, String request, int credit,
            Completion completion) {
        Stream stream = new Stream();
        rsocket.execute(() -> stream.id.complete(rsocket.request(
                interaction, credit, completion, stream, Unpooled.wrappedBuffer(metadata),
                bytes(request), PayloadWriter.BYTES)));
        return stream;
    }

    Stream stream(String route, String request, int credit) {
        return open(Interaction.REQUEST_STREAM, metadata(route), request, credit,
                Completion.COMPLETE);
    }

    /** Waits until it is so. */
    static void until(String what, BooleanSupplier isSo) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SOON_S);
        while (!isSo.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                fail("not within " + SOON_S + " s: " + what);
            }
            Thread.sleep(2);
        }
    }

    @Override
    public void close() {
        loops.close();
    }
}
