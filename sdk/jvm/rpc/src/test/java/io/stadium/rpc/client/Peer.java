package io.stadium.rpc.client;

import io.netty.handler.ssl.SslContext;
import io.stadium.rpc.Codec;
import io.stadium.rpc.Method;
import io.stadium.rsocket.connection.CancelScope;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.LeaseMode;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.metadata.CompositeMetadata;
import io.stadium.rsocket.metadata.Routing;
import io.stadium.rsocket.metadata.WellKnownMimeType;
import io.stadium.rsocket.netty.EventLoops;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.RSocketHandler;
import io.stadium.rsocket.netty.RSocketServer;
import io.stadium.rsocket.netty.StreamHandler;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** An instance of the service {@code test}, whose methods do what the tests need. */
final class Peer implements AutoCloseable {
    static final Method<byte[], byte[]> ECHO =
            Method.unary("test/Echo", Codec.BYTES, Codec.BYTES);

    /** Answers with the metadata of the request. */
    static final Method<byte[], byte[]> METADATA =
            Method.unary("test/Metadata", Codec.BYTES, Codec.BYTES);

    static final Method<byte[], byte[]> NEVER =
            Method.unary("test/Never", Codec.BYTES, Codec.BYTES);

    /** Answers with an ERROR: the first four bytes are its code, the rest its text. */
    static final Method<byte[], byte[]> ERROR =
            Method.unary("test/Error", Codec.BYTES, Codec.BYTES);

    static final Method<byte[], Void> NOTE = Method.oneWay("test/Note", Codec.BYTES);

    /** Numbers in text, up to the one of the request. */
    static final Method<byte[], byte[]> COUNT =
            Method.stream("test/Count", Codec.BYTES, Codec.BYTES);

    /** Echoes; takes two requests at a time. A request {@code stop} refuses further ones. */
    static final Method<byte[], byte[]> TALK =
            Method.channel("test/Talk", Codec.BYTES, Codec.BYTES);

    final List<RSocket> connections = new CopyOnWriteArrayList<>();
    final AtomicInteger requests = new AtomicInteger();
    final AtomicInteger cancels = new AtomicInteger();
    final List<String> notes = new CopyOnWriteArrayList<>();

    /** It takes requests and answers none of them. */
    volatile boolean isStalled;

    private final EventLoops loops = EventLoops.start(1);
    private final RSocketServer.Bound bound;

    Peer() throws Exception {
        this(null, LeaseMode.OFF);
    }

    Peer(SslContext tls, LeaseMode lease) throws Exception {
        bound = new RSocketServer(loops)
                .config(Config.builder().lease(lease).build())
                .tls(tls)
                .handlers(Handler::new)
                .bind(new InetSocketAddress("127.0.0.1", 0)).get();
    }

    String address() {
        return "127.0.0.1:" + bound.address().getPort();
    }

    /** Pushes a load to all clients. */
    void pushLoad(float load, boolean isQuiescing) {
        for (RSocket connection : connections) {
            connection.execute(() -> {
                io.netty.buffer.ByteBuf metadata = io.netty.buffer.Unpooled.buffer();
                int start = CompositeMetadata.begin(metadata, "message/x.stadium.load.v1");
                metadata.writeFloat(load).writeByte(isQuiescing ? 1 : 0);
                CompositeMetadata.end(metadata, start);
                connection.metadataPush(metadata);
            });
        }
    }

    void grantLeases(int count) {
        connections.forEach(one -> one.execute(() -> one.grantLease(10_000, count)));
    }

    /** Ends all connections as a process that dies does. */
    void drop() {
        connections.forEach(one -> one.channel().close());
    }

    @Override
    public void close() {
        bound.close();
        loops.close();
    }

    private static String route(Payload payload) {
        CompositeMetadata cursor = new CompositeMetadata().reset(payload.metadata(),
                payload.metadataIndex(), payload.metadataLength());
        try {
            return cursor.find(WellKnownMimeType.ROUTING)
                    ? Routing.read(payload.metadata(), cursor.contentIndex(),
                            cursor.contentLength()).get(0)
                    : "";
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** One connection. */
    private final class Handler implements RSocketHandler {
        @Override
        public void onSetup(RSocket rsocket, io.stadium.rsocket.connection.Setup setup) {
            connections.add(rsocket);
            rsocket.accept();
        }

        @Override
        public void onClosed(RSocket rsocket, io.stadium.rsocket.connection.Closed closed) {
            connections.remove(rsocket);
        }

        @Override
        public void onRequest(
                RSocket rsocket, int streamId, Interaction interaction, int credit,
                Payload payload) {
            requests.incrementAndGet();
            if (isStalled) {
                rsocket.handle(streamId, new Silent());
                return;
            }
            byte[] data = payload.dataBytes();
            switch (route(payload)) {
                case "test/Echo" -> answer(rsocket, streamId, data);
                case "greeter/Hello" ->
                    answer(rsocket, streamId, ("Hello, " + new String(data)).getBytes());
                case "test/Metadata" -> answer(rsocket, streamId, payload.metadataBytes());
                case "test/Never" -> rsocket.handle(streamId, new Silent());
                case "test/Error" -> rsocket.error(streamId,
                        java.nio.ByteBuffer.wrap(data).getInt(),
                        new String(data, 4, data.length - 4));
                case "test/Note" -> notes.add(new String(data));
                case "test/Count" -> {
                    Count count = new Count(Integer.parseInt(new String(data)));
                    rsocket.handle(streamId, count);
                    count.send(rsocket, streamId);
                }
                case "test/Talk" -> {
                    rsocket.handle(streamId, new Talk());
                    rsocket.payload(streamId, Completion.OPEN, null, data, PayloadWriter.BYTES);
                    rsocket.requestN(streamId, 2);
                }
                default -> rsocket.error(streamId, ErrorCode.INVALID, "RPC-002: no such route");
            }
        }

        private void answer(RSocket rsocket, int streamId, byte[] data) {
            rsocket.payload(streamId, Completion.COMPLETE, null, data, PayloadWriter.BYTES);
        }
    }

    private final class Silent implements StreamHandler {
        @Override
        public void onCancel(RSocket rsocket, int streamId, CancelScope scope) {
            cancels.incrementAndGet();
        }
    }

    private final class Count implements StreamHandler {
        private final int last;
        private int next = 1;

        Count(int last) {
            this.last = last;
        }

        void send(RSocket rsocket, int streamId) {
            while (next <= last && rsocket.credit(streamId) > 0) {
                rsocket.payload(streamId, next == last ? Completion.COMPLETE : Completion.OPEN,
                        null, Integer.toString(next).getBytes(), PayloadWriter.BYTES);
                next++;
                notes.add("sent");
            }
        }

        @Override
        public void onRequestN(RSocket rsocket, int streamId, int n) {
            send(rsocket, streamId);
        }

        @Override
        public void onCancel(RSocket rsocket, int streamId, CancelScope scope) {
            cancels.incrementAndGet();
        }
    }

    private final class Talk implements StreamHandler {
        private final java.util.ArrayDeque<byte[]> waiting = new java.util.ArrayDeque<>();
        private boolean isComplete;

        @Override
        public void onPayload(RSocket rsocket, int streamId, Payload payload) {
            if (new String(payload.dataBytes()).equals("stop")) {
                rsocket.cancel(streamId);
                return;
            }
            waiting.add(payload.dataBytes());
            isComplete |= payload.isComplete();
            send(rsocket, streamId);
        }

        private void send(RSocket rsocket, int streamId) {
            while (!waiting.isEmpty() && rsocket.credit(streamId) > 0) {
                rsocket.payload(streamId, Completion.OPEN, null, waiting.poll(),
                        PayloadWriter.BYTES);
                rsocket.requestN(streamId, 1);
            }
            if (waiting.isEmpty() && isComplete) {
                isComplete = false;
                rsocket.complete(streamId);
            }
        }

        @Override
        public void onRequestN(RSocket rsocket, int streamId, int n) {
            send(rsocket, streamId);
        }

        @Override
        public void onComplete(RSocket rsocket, int streamId) {
            isComplete = true;
            send(rsocket, streamId);
        }

        @Override
        public void onCancel(RSocket rsocket, int streamId, CancelScope scope) {
            cancels.incrementAndGet();
        }
    }
}
