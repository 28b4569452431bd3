package io.stadium.rsocket.netty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.Unpooled;
import io.stadium.rsocket.connection.CancelScope;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.connection.Setup;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Interaction;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A client and a server on loopback sockets. */
@Timeout(120)
class SocketsTest {
    static final InetSocketAddress ANY = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);

    private final EventLoops loops = EventLoops.start(2);
    private final Echoes service = new Echoes();

    @AfterEach
    void stop() {
        loops.close();
    }

    private RSocket connect() throws Exception {
        return connect(new RSocketServer(loops).handlers(() -> service), new RSocketClient(loops));
    }

    private static RSocket connect(RSocketServer server, RSocketClient client) throws Exception {
        return client.connect(server.bind(ANY).get().address()).get();
    }

    @Test
    void aRequestIsAnswered() throws Exception {
        RSocket rsocket = connect();
        assertArrayEquals("hello".getBytes(), rsocket.requestResponse(null,
                "hello".getBytes()).get());
    }

    @Test
    void aFireAndForgetArrives() throws Exception {
        RSocket rsocket = connect();
        rsocket.fireAndForget(null, "forget".getBytes()).get();
        // An answer to a later request shows that the earlier one has been received.
        rsocket.requestResponse(null, new byte[0]).get();
        assertEquals("forget", service.forgotten.poll());
    }

    @Test
    void aStreamBringsItsValuesAsCreditAllows() throws Exception {
        RSocket rsocket = connect();
        Values values = new Values(7);
        rsocket.execute(() -> rsocket.request(
                Interaction.REQUEST_STREAM, 7, Completion.COMPLETE, values, null, null,
                PayloadWriter.BUFFER));
        List<String> received = values.done.get();
        assertEquals(Echoes.STREAM_VALUES, received.size());
        assertEquals("1000", received.get(999));
    }

    @Test
    void aStreamMayBeCancelled() throws Exception {
        RSocket rsocket = connect();
        rsocket.execute(() -> {
            int id = rsocket.request(
                    Interaction.REQUEST_STREAM, 1, Completion.COMPLETE, null, null, null,
                    PayloadWriter.BUFFER);
            rsocket.cancel(id);
        });
        rsocket.requestResponse(null, new byte[0]).get();
        assertEquals(1, service.cancelled.get());
    }

    @Test
    void aChannelGoesBothWays() throws Exception {
        RSocket rsocket = connect();
        CompletableFuture<List<String>> done = new CompletableFuture<>();
        StreamHandler handler = new StreamHandler() {
            private final List<String> received = new ArrayList<>();
            private int next = 1;

            @Override
            public void onRequestN(RSocket rsocket, int streamId, int n) {
                if (next <= 100) {
                    Completion completion = next == 100 ? Completion.COMPLETE : Completion.OPEN;
                    byte[] data = Integer.toString(next++).getBytes();
                    rsocket.payload(streamId, completion, null, data, PayloadWriter.BYTES);
                }
            }

            @Override
            public void onPayload(RSocket rsocket, int streamId, Payload payload) {
                received.add(payload.dataUtf8());
                if (payload.isComplete()) {
                    done.complete(received);
                }
            }
        };
        rsocket.execute(() -> rsocket.request(
                Interaction.REQUEST_CHANNEL, Integer.MAX_VALUE, Completion.OPEN, handler, null,
                "0".getBytes(), PayloadWriter.BYTES));
        List<String> received = done.get();
        assertEquals(101, received.size());
        assertEquals("100", received.get(100));
    }

    @Test
    void aPayloadOfMegabytesTravelsInFragments() throws Exception {
        RSocket rsocket = connect();
        byte[] data = new byte[5_000_000];
        new Random(1).nextBytes(data);
        List<CompletableFuture<byte[]>> answers = new ArrayList<>();
        for (int nth = 0; nth < 3; nth++) {
            answers.add(rsocket.requestResponse(new byte[100_000], data));
        }
        for (CompletableFuture<byte[]> answer : answers) {
            assertArrayEquals(data, answer.get());
        }
    }

    @Test
    void aServerMayAskItsClient() throws Exception {
        CompletableFuture<byte[]> answer = new CompletableFuture<>();
        RSocketHandler asks = new RSocketHandler() {
            @Override
            public void onSetup(RSocket rsocket, Setup setup) {
                rsocket.accept();
                rsocket.requestResponse(null, "who?".getBytes()).thenAccept(answer::complete);
            }
        };
        connect(new RSocketServer(loops).handlers(() -> asks),
                new RSocketClient(loops).handlers(() -> service));
        assertArrayEquals("who?".getBytes(), answer.get());
    }

    @Test
    void requestsBehindASetupWaitForItsAnswer() throws Exception {
        AtomicReference<RSocket> accepted = new AtomicReference<>();
        CountDownLatch setup = new CountDownLatch(1);
        RSocketHandler late = new RSocketHandler() {
            @Override
            public void onSetup(RSocket rsocket, Setup received) {
                accepted.set(rsocket);
                setup.countDown();
            }

            @Override
            public void onRequest(
                    RSocket rsocket, int streamId, Interaction interaction, int n,
                            Payload payload) {
                service.onRequest(rsocket, streamId, interaction, n, payload);
            }
        };
        RSocket rsocket = connect(new RSocketServer(loops).handlers(() -> late),
                new RSocketClient(loops));
        CompletableFuture<byte[]> first = rsocket.requestResponse(null, "first".getBytes());
        setup.await();
        CompletableFuture<byte[]> second = rsocket.requestResponse(null, "second".getBytes());
        accepted.get().execute(accepted.get()::accept);
        assertArrayEquals("first".getBytes(), first.get());
        assertArrayEquals("second".getBytes(), second.get());
    }

    @Test
    void aRefusedClientLearnsWhy() throws Exception {
        RSocketHandler refuses = new RSocketHandler() {
            @Override
            public void onSetup(RSocket rsocket, Setup setup) {
                rsocket.refuse(ErrorCode.REJECTED_SETUP, "not today");
            }
        };
        CompletableFuture<Closed> closed = new CompletableFuture<>();
        connect(
                new RSocketServer(loops).handlers(() -> refuses),
                new RSocketClient(loops).handlers(() -> new ClosedHandler(closed)));
        assertEquals(new Closed(Closed.Reason.PEER, ErrorCode.REJECTED_SETUP, "not today"),
                closed.get());
    }

    @Test
    void openRequestsFailWithTheirConnection() throws Exception {
        RSocketHandler fails = new RSocketHandler() {
            @Override
            public void onRequest(
                    RSocket rsocket, int streamId, Interaction interaction, int n,
                            Payload payload) {
                throw new IllegalStateException("a bug of the application");
            }
        };
        RSocket rsocket = connect(new RSocketServer(loops).handlers(() -> fails),
                new RSocketClient(loops));
        CompletableFuture<byte[]> answer = rsocket.requestResponse(null, new byte[1]);
        ExecutionException e = assertThrows(ExecutionException.class, answer::get);
        assertEquals(ErrorCode.CONNECTION_ERROR, assertInstanceOf(RSocketException.class,
                e.getCause()).code());
        // Later requests are not sent.
        CompletableFuture<byte[]> later = rsocket.requestResponse(null, new byte[1]);
        e = assertThrows(ExecutionException.class, later::get);
        assertEquals(ErrorCode.REJECTED, assertInstanceOf(RSocketException.class,
                e.getCause()).code());
    }

    @Test
    void aRejectedRequestFailsWithItsCode() throws Exception {
        RSocket rsocket = connect(new RSocketServer(loops), new RSocketClient(loops));
        ExecutionException e = assertThrows(
                ExecutionException.class, () -> rsocket.requestResponse(null, new byte[1]).get());
        assertEquals(ErrorCode.REJECTED, assertInstanceOf(RSocketException.class,
                e.getCause()).code());
    }

    @Test
    void aShutdownLetsOpenRequestsEnd() throws Exception {
        CompletableFuture<Closed> closed = new CompletableFuture<>();
        RSocket rsocket = connect(
                new RSocketServer(loops).handlers(() -> service),
                new RSocketClient(loops).handlers(() -> new ClosedHandler(closed)));
        CompletableFuture<byte[]> answer = rsocket.requestResponse(null, "last".getBytes());
        rsocket.shutdown();
        assertArrayEquals("last".getBytes(), answer.get());
        assertEquals(ErrorCode.CONNECTION_CLOSE, closed.get().code());
    }

    @Test
    void aSilentServerIsGivenUp() throws Exception {
        CompletableFuture<Closed> closed = new CompletableFuture<>();
        try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            new RSocketClient(loops)
                    .config(Config.builder().keepaliveIntervalMs(20).lifetimeMs(200).build())
                    .handlers(() -> new ClosedHandler(closed))
                    .connect((InetSocketAddress) silent.getLocalSocketAddress()).get();
            assertEquals(Closed.Reason.KEEPALIVE_TIMEOUT, closed.get().reason());
        }
    }

    @Test
    void keepalivesHoldAnIdleConnection() throws Exception {
        RSocket rsocket = connect(
                new RSocketServer(loops).handlers(() -> service),
                new RSocketClient(loops).config(
                        Config.builder().keepaliveIntervalMs(50).lifetimeMs(10_000).build()));
        // Several intervals pass on the loop's own clock.
        CountDownLatch passed = new CountDownLatch(1);
        rsocket.channel().eventLoop().schedule(passed::countDown, 300, TimeUnit.MILLISECONDS);
        passed.await();
        assertArrayEquals("on".getBytes(), rsocket.requestResponse(null, "on".getBytes()).get());
    }

    @Test
    void aThousandConnectionsAreServed() throws Exception {
        InetSocketAddress address =
                new RSocketServer(loops).handlers(() -> service).bind(ANY).get().address();
        RSocketClient client = new RSocketClient(loops).connectMs(60_000);
        List<CompletableFuture<byte[]>> answers = new ArrayList<>();
        for (int nth = 0; nth < 1_000; nth++) {
            byte[] data = Integer.toString(nth).getBytes();
            answers.add(client.connect(address).thenCompose(rsocket -> rsocket.requestResponse(
                    null, data)));
        }
        for (int nth = 0; nth < 1_000; nth++) {
            assertEquals(Integer.toString(nth), new String(answers.get(nth).get()));
        }
    }

    @Test
    void loopsThatSpinServeAndSleep() throws Exception {
        try (EventLoops spinning = EventLoops.startSpinning(1, 50)) {
            RSocket rsocket = connect(
                    new RSocketServer(spinning).handlers(() -> service), new RSocketClient(loops));
            for (int nth = 0; nth < 100; nth++) {
                assertArrayEquals("spin".getBytes(), rsocket.requestResponse(null,
                        "spin".getBytes()).get());
            }
        }
    }

    @Test
    void methodsOfTheLoopThrowElsewhere() throws Exception {
        RSocket rsocket = connect();
        assertThrows(IllegalStateException.class,
                () -> rsocket.metadataPush(Unpooled.EMPTY_BUFFER));
        assertTrue(rsocket.channel().isActive());
    }

    /** Completes a future when the connection ends. */
    record ClosedHandler(CompletableFuture<Closed> closed) implements RSocketHandler {
        @Override
        public void onClosed(RSocket rsocket, Closed closed) {
            this.closed.complete(closed);
        }
    }

    /** Collects the values of a stream, and grants credit as it is used up. */
    private static final class Values implements StreamHandler {
        final CompletableFuture<List<String>> done = new CompletableFuture<>();
        private final List<String> received = new ArrayList<>();
        private final int credit;

        Values(int credit) {
            this.credit = credit;
        }

        @Override
        public void onPayload(RSocket rsocket, int streamId, Payload payload) {
            received.add(payload.dataUtf8());
            if (payload.isComplete()) {
                done.complete(received);
            } else if (received.size() % credit == 0) {
                rsocket.requestN(streamId, credit);
            }
        }

        @Override
        public void onCancel(RSocket rsocket, int streamId, CancelScope scope) {
            done.completeExceptionally(new AssertionError("cancelled"));
        }
    }
}
