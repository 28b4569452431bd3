package io.stadium.rpc.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.stadium.rpc.wire.RequestMetadata;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.LeaseMode;
import io.stadium.rsocket.connection.SetupOptions;
import io.stadium.rsocket.metadata.CompositeMetadata;
import java.io.InputStream;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What bounds a server: leases, pushes of load, connections, slow readers, leaving. */
@Timeout(300)
class AdmissionTest {
    private static SetupOptions peer() {
        ByteBuf metadata = Unpooled.buffer();
        CompositeMetadata.end(metadata, CompositeMetadata.begin(metadata, RequestMetadata.PEER));
        return new SetupOptions(SetupOptions.DEFAULT.metadataMimeType(),
                SetupOptions.DEFAULT.dataMimeType(), ByteBufUtil.getBytes(metadata), null);
    }

    private static Service.Builder echo() {
        return ServerTest.service()
                .inline(ServerTest.unary("Echo"), (call, request) -> request);
    }

    @Test
    void clientsThatAskForLeasesGetThemAgainAndAgain() throws Exception {
        try (RpcServer server = ServerTest.on(echo()).start();
                Caller caller = new Caller(server,
                        Config.builder().lease(LeaseMode.HONOUR).build(), SetupOptions.DEFAULT,
                        null)) {
            assertEquals(1_000, caller.leases.poll(Caller.SOON_S, TimeUnit.SECONDS));
            assertEquals("a", caller.answer("test/Echo", "a"));
            // Long after the first lease ended the client may still send.
            for (int nth = 0; nth < 6; nth++) {
                Integer requests = caller.leases.poll(Caller.SOON_S, TimeUnit.SECONDS);
                assertNotNull(requests);
                assertTrue(requests > 0, "granted " + requests);
            }
            assertEquals("b", caller.answer("test/Echo", "b"));
        }
    }

    @Test
    void clientsThatAskForItHearOfTheLoadAndOthersDoNot() throws Exception {
        try (RpcServer server = ServerTest.on(echo()).start();
                Caller plain = new Caller(server);
                Caller caller = new Caller(server, Config.DEFAULT, peer(), null)) {
            byte[] serving = caller.pushes.poll(Caller.SOON_S, TimeUnit.SECONDS);
            assertNotNull(serving);
            assertEquals(0, serving[serving.length - 1]);
            CompletableFuture<Integer> ended = server.quiesce(Duration.ofSeconds(30));
            byte[] last = serving;
            while (last[last.length - 1] == 0) {
                last = caller.pushes.poll(Caller.SOON_S, TimeUnit.SECONDS);
                assertNotNull(last);
            }
            assertEquals(0, ended.get(Caller.SOON_S, TimeUnit.SECONDS));
            assertTrue(plain.pushes.isEmpty());
            assertNotNull(caller.closed.get(Caller.SOON_S, TimeUnit.SECONDS));
        }
    }

    @Test
    void aServerThatLeavesFinishesWhatItHasAndThenTakesNothingNew() throws Exception {
        CompletableFuture<byte[]> later = new CompletableFuture<>();
        try (RpcServer server = ServerTest.on(echo().asynchronous(
                ServerTest.unary("Later"), (call, request) -> later)).start();
                Caller caller = new Caller(server)) {
            CompletableFuture<byte[]> underWay = caller.call("test/Later", "");
            assertEquals("a", caller.answer("test/Echo", "a"));
            CompletableFuture<Integer> ended = server.quiesce(Duration.ofSeconds(60));
            // Calls are served until clients have had the time to notice, then they are Busy.
            String refused = null;
            while (refused == null) {
                CompletableFuture<byte[]> call = caller.call("test/Echo", "b");
                try {
                    assertEquals("b", Caller.text(call));
                } catch (java.util.concurrent.ExecutionException e) {
                    refused = Caller.error(call);
                }
            }
            assertTrue(refused.startsWith("REJECTED: BUSY retry_after_ms="), refused);
            assertTrue(refused.endsWith(": the instance quiesces"), refused);
            later.complete(Caller.bytes("done"));
            assertEquals("done", Caller.text(underWay));
            assertEquals(0, ended.get(Caller.SOON_S, TimeUnit.SECONDS));
        }
    }

    @Test
    void aBoundOnConnectionsHolds() throws Exception {
        try (RpcServer server = ServerTest.on(echo()).connectionsMax(2).start();
                Caller one = new Caller(server); Caller two = new Caller(server);
                Socket third = new Socket("127.0.0.1", server.address().getPort())) {
            assertEquals("a", one.answer("test/Echo", "a"));
            third.setSoTimeout(Caller.SOON_S * 1_000);
            assertEquals(-1, third.getInputStream().read());
            assertEquals("b", two.answer("test/Echo", "b"));
            assertEquals(1, server.refusedConnections());
        }
    }

    @Test
    void aThousandConnectionsAreServed() throws Exception {
        try (RpcServer server = ServerTest.on(echo()).start()) {
            byte[] setup = frame("00000000 0400 0001 0000 00004e20 00015f90"
                    + "27 6d6573736167652f782e72736f636b65742e636f6d706f736974652d6d65746164617461"
                    + "2e7630 01 78");
            byte[] request = frame("00000001 1100 00000e fe00000a09 746573742f4563686f 61");
            List<Socket> sockets = new ArrayList<>();
            try {
                for (int nth = 0; nth < 1_000; nth++) {
                    Socket socket = new Socket("127.0.0.1", server.address().getPort());
                    sockets.add(socket);
                    socket.getOutputStream().write(setup);
                    socket.getOutputStream().write(request);
                }
                for (Socket socket : sockets) {
                    socket.setSoTimeout(Caller.SOON_S * 1_000);
                    // PAYLOAD with next and complete, and the byte that was sent.
                    assertEquals("000007" + "00000001" + "2860" + "61",
                            ByteBufUtil.hexDump(socket.getInputStream().readNBytes(10)));
                }
                Caller.until("all are counted",
                        () -> server.sum(Counts.Figure.CONNECTIONS) == 1_000);
            } finally {
                for (Socket socket : sockets) {
                    socket.close();
                }
            }
            Caller.until("all have gone", () -> server.sum(Counts.Figure.CONNECTIONS) == 0);
        }
    }

    /** A frame with its length before it. */
    private static byte[] frame(String hex) {
        byte[] frame = ByteBufUtil.decodeHexDump(hex.replace(" ", ""));
        ByteBuf out = Unpooled.buffer().writeMedium(frame.length).writeBytes(frame);
        return ByteBufUtil.getBytes(out);
    }

    @Test
    void aReaderThatTakesNothingIsNotSentForAndIsClosedInTheEnd() throws Exception {
        AtomicLong sent = new AtomicLong();
        byte[] large = new byte[64 * 1024];
        try (RpcServer server = ServerTest.on(echo().publishing(
                ServerTest.stream("Endless"), (call, request) -> subscriber ->
                        subscriber.onSubscribe(new Flow.Subscription() {
                            @Override
                            public void request(long n) {
                                for (long nth = 0; nth < n; nth++) {
                                    sent.incrementAndGet();
                                    subscriber.onNext(large);
                                }
                            }

                            @Override
                            public void cancel() {
                                sent.set(-1);
                            }
                        }))).readStall(Duration.ofMillis(500)).start();
                Caller other = new Caller(server);
                Socket slow = new Socket()) {
            slow.setReceiveBufferSize(4_096);
            slow.connect(server.address());
            slow.getOutputStream().write(frame("00000000 0400 0001 0000 00004e20 00015f90"
                    + "27 6d6573736167652f782e72736f636b65742e636f6d706f736974652d6d65746164617461"
                    + "2e7630 01 78"));
            slow.getOutputStream().write(frame(
                    "00000001 1900 7fffffff 000011 fe00000d0c 746573742f456e646c657373"));
            Caller.until("it has begun", () -> sent.get() != 0);
            long most = 0;
            while (sent.get() >= 0) {
                most = Math.max(most, sent.get());
                assertEquals("a", other.answer("test/Echo", "a"));
            }
            // What the sockets take, the outgoing queue, and what the publisher was asked for.
            assertTrue(most < 400, most + " messages of 64 KiB were made for nobody");
            Caller.until("it is counted", () -> server.sum(Counts.Figure.CUT_SLOW) == 1);
            InputStream in = slow.getInputStream();
            slow.setSoTimeout(Caller.SOON_S * 1_000);
            try {
                in.transferTo(java.io.OutputStream.nullOutputStream());
            } catch (java.io.IOException e) {
                // Reset: the end as well.
                assertNotNull(e);
            }
        }
    }

    @Test
    void connectionsThatHoldTooMuchUnfinishedAreCut() throws Exception {
        try (RpcServer server =
                ServerTest.on(echo()).unfinishedBytesMax(1 << 20).start();
                Caller other = new Caller(server);
                Socket hoarder = new Socket("127.0.0.1", server.address().getPort())) {
            hoarder.getOutputStream().write(frame("00000000 0400 0001 0000 00004e20 00015f90"
                    + "27 6d6573736167652f782e72736f636b65742e636f6d706f736974652d6d65746164617461"
                    + "2e7630 01 78"));
            // A frame of 8 MiB of which 4 come.
            hoarder.getOutputStream().write(new byte[] {(byte) 0x80, 0, 0});
            hoarder.getOutputStream().write(new byte[4 << 20]);
            hoarder.setSoTimeout(Caller.SOON_S * 1_000);
            String heard = new String(hoarder.getInputStream().readAllBytes());
            assertTrue(heard.contains("too many bytes"), heard);
            assertEquals(1, server.sum(Counts.Figure.CUT_UNFINISHED));
            assertEquals("a", other.answer("test/Echo", "a"));
            assertNull(other.closed.getNow(null));
        }
    }
}
