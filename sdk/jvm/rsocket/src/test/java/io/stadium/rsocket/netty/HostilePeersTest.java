package io.stadium.rsocket.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.frame.FrameEncoder;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.frame.SetupFields;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Peers that half-close, never read, or send no protocol at all, as bare sockets. */
@Timeout(120)
class HostilePeersTest {
    private final EventLoops loops = EventLoops.start(1);
    private final CompletableFuture<Closed> closed = new CompletableFuture<>();

    @AfterEach
    void stop() {
        loops.close();
    }

    private Socket connect(TransportOptions transport, RSocketHandler handler) throws Exception {
        RSocketServer.Bound bound = new RSocketServer(loops)
                .transport(transport).handlers(() -> handler).bind(SocketsTest.ANY).get();
        Socket socket = new Socket();
        socket.setReceiveBufferSize(4_096);
        socket.connect(bound.address());
        return socket;
    }

    private static ByteBuf setup() {
        ByteBuf bytes = Unpooled.buffer();
        FrameEncoder.setup(bytes, new SetupFields(1, 0, 20_000, 90_000, false, null, "a/b", "c/d",
                null, null));
        return bytes;
    }

    private static void write(Socket socket, ByteBuf bytes) throws IOException {
        OutputStream out = socket.getOutputStream();
        bytes.readBytes(out, bytes.readableBytes());
        out.flush();
    }

    @Test
    void aHalfClosedPeerGetsItsAnswer() throws Exception {
        Echoes service = new Echoes();
        try (Socket socket = connect(TransportOptions.DEFAULT, service)) {
            ByteBuf bytes = setup();
            FrameEncoder.request(
                    bytes, 1, Interaction.REQUEST_RESPONSE, 0, 0, null,
                    Unpooled.wrappedBuffer("half".getBytes()));
            write(socket, bytes);
            socket.shutdownOutput();
            byte[] answer = socket.getInputStream().readAllBytes();
            assertEquals("00000a00000001286068616c66", ByteBufUtil.hexDump(answer));
        }
        awaitClosed(service);
    }

    private static void awaitClosed(Echoes service) {
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (service.closed.isEmpty() && System.nanoTime() < deadline) {
            Thread.onSpinWait();
        }
        assertEquals(Closed.Reason.TRANSPORT, service.closed.element().reason());
    }

    @Test
    void aPeerThatNeverReadsIsReadNoMore() throws Exception {
        AtomicLong outgoing = new AtomicLong();
        byte[] data = new byte[10_000];
        RSocketHandler answers = new RSocketHandler() {
            @Override
            public void onRequest(
                    RSocket rsocket, int streamId, Interaction interaction, int n,
                            Payload payload) {
                rsocket.payload(streamId, Completion.COMPLETE, null, data, PayloadWriter.BYTES);
                outgoing.accumulateAndGet(pending(rsocket), Math::max);
            }

            @Override
            public void onClosed(RSocket rsocket, Closed why) {
                closed.complete(why);
            }
        };
        TransportOptions transport = new TransportOptions(100_000, 1 << 30, 300);
        try (Socket socket = connect(transport, answers)) {
            write(socket, setup());
            // Requests of 2,009 bytes until the socket takes no more, or the server closes it.
            for (int id = 1; !closed.isDone(); id += 2) {
                ByteBuf request = Unpooled.buffer();
                FrameEncoder.request(
                        request, id, Interaction.REQUEST_RESPONSE, 0, 0, null,
                        Unpooled.wrappedBuffer(new byte[2_000]));
                try {
                    write(socket, request);
                } catch (IOException e) {
                    break;
                }
            }
            Closed why = closed.get();
            assertEquals(Closed.Reason.SLOW_PEER, why.reason(), why.toString());
            assertTrue(why.text().contains("has read nothing"), why.text());
            // A read of at most 64 KiB holds 33 requests, and answers five times as large.
            assertTrue(outgoing.get() < 1_000_000, outgoing.get() + " bytes were outgoing");
        }
    }

    private static long pending(RSocket rsocket) {
        return rsocket.channel().unsafe().outboundBuffer().totalPendingWriteBytes();
    }

    @Test
    void aPeerThatReadsTooSlowlyIsClosed() throws Exception {
        byte[] data = new byte[50_000];
        RSocketHandler floods = new RSocketHandler() {
            @Override
            public void onRequest(
                    RSocket rsocket, int streamId, Interaction interaction, int n,
                            Payload payload) {
                // An application that ignores isWritable.
                while (rsocket.credit(streamId) > 0) {
                    rsocket.payload(streamId, Completion.OPEN, null, data, PayloadWriter.BYTES);
                }
            }

            @Override
            public void onClosed(RSocket rsocket, Closed why) {
                closed.complete(why);
            }
        };
        TransportOptions transport = new TransportOptions(100_000, 10_000_000, 60_000);
        try (Socket socket = connect(transport, floods)) {
            ByteBuf bytes = setup();
            FrameEncoder.request(bytes, 1, Interaction.REQUEST_STREAM, 0, Integer.MAX_VALUE, null,
                    null);
            write(socket, bytes);
            Closed why = closed.get();
            assertEquals(Closed.Reason.SLOW_PEER, why.reason(), why.toString());
            assertTrue(why.text().contains("too slowly"), why.text());
        }
    }

    @Test
    void aStrangerGetsAnErrorAndTheEnd() throws Exception {
        Echoes service = new Echoes();
        try (Socket socket = connect(TransportOptions.DEFAULT, service)) {
            write(socket, Unpooled.wrappedBuffer("GET / HTTP/1.1\r\n\r\n".getBytes()));
            byte[] answer = socket.getInputStream().readAllBytes();
            assertTrue(new String(answer, 13,
                    answer.length - 13).startsWith("the first frame has"));
        }
    }
}
