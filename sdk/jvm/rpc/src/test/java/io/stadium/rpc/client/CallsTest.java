package io.stadium.rpc.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBufUtil;
import io.stadium.rpc.ApplicationError;
import io.stadium.rpc.Busy;
import io.stadium.rpc.Cancelled;
import io.stadium.rpc.Codec;
import io.stadium.rpc.DeadlineExceeded;
import io.stadium.rpc.Method;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unavailable;
import io.stadium.rpc.Unknown;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Unary and one-way calls to one instance: their forms, their options, their ends. */
@Timeout(60)
class CallsTest {
    private Peer peer;
    private RpcClient client;

    @BeforeEach
    void start() throws Exception {
        peer = new Peer();
        client = RpcClient.builder().instances(peer.address()).busyPoll(Duration.ZERO).start();
    }

    @AfterEach
    void stop() {
        client.close();
        peer.close();
    }

    private static byte[] bytes(String text) {
        return text.getBytes();
    }

    private static byte[] error(int code, String text) {
        return ByteBuffer.allocate(4 + text.length()).putInt(code).put(bytes(text)).array();
    }

    @Test
    void allFormsOfACallAreAnswered() throws Exception {
        assertArrayEquals(bytes("a"), Wait.answer(client.call(Peer.ECHO, bytes("a"))));
        assertArrayEquals(bytes("b"), client.callBlocking(Peer.ECHO, bytes("b")));
        CompletableFuture<byte[]> handled = new CompletableFuture<>();
        client.call(Peer.ECHO, bytes("c"), CallOptions.DEFAULT, handler(handled));
        assertArrayEquals(bytes("c"), Wait.answer(handled));
        assertArrayEquals(new byte[0], client.callBlocking(Peer.ECHO, new byte[0]));
    }

    private static AnswerHandler<byte[]> handler(CompletableFuture<byte[]> future) {
        return new AnswerHandler<>() {
            @Override
            public void onAnswer(byte[] answer) {
                future.complete(answer);
            }

            @Override
            public void onFailure(RpcException failure) {
                future.completeExceptionally(failure);
            }
        };
    }

    @Test
    void manyCallsOfManyThreadsAreAnsweredByTheirOwnAnswers() throws Exception {
        client.callBlocking(Peer.ECHO, bytes("connect"));
        AtomicInteger wrong = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int nth = 0; nth < 8; nth++) {
            int mine = nth;
            Thread thread = new Thread(() -> {
                List<CompletableFuture<byte[]>> answers = new ArrayList<>();
                for (int call = 0; call < 1_000; call++) {
                    answers.add(client.call(Peer.ECHO, bytes(mine + "-" + call)));
                }
                for (int call = 0; call < 1_000; call++) {
                    boolean isRight =
                            Arrays.equals(bytes(mine + "-" + call), answers.get(call).join());
                    wrong.addAndGet(isRight ? 0 : 1);
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertEquals(0, wrong.get());
        assertEquals(8_001, peer.requests.get());
    }

    @Test
    void aRequestCarriesItsMetadataInTheOrderOfTheProtocol() throws Exception {
        CallOptions options = CallOptions.DEFAULT
                .deadline(Duration.ofSeconds(2)).key(bytes("k")).bearer("secret")
                .metadata(ByteBufUtil.decodeHexDump("fd00000110"));
        String hex = ByteBufUtil.hexDump(client.callBlocking(Peer.METADATA, bytes(""), options));
        String route = "fe00000e0d" + ByteBufUtil.hexDump(bytes("test/Metadata"));
        String deadline = "1c" + ByteBufUtil.hexDump(bytes("message/x.stadium.deadline.v1"))
                + "000004";
        assertTrue(hex.startsWith(route + deadline), hex);
        String left = hex.substring((route + deadline).length()).substring(0, 8);
        int leftMs = Integer.parseInt(left, 16);
        assertTrue(leftMs > 0 && leftMs <= 2_000, left);
        String key = "17" + ByteBufUtil.hexDump(bytes("message/x.stadium.key.v1")) + "0000016b";
        String rest = key + "fc00000781" + ByteBufUtil.hexDump(bytes("secret")) + "fd00000110";
        assertEquals(rest, hex.substring((route + deadline).length() + 8));
        String plain = ByteBufUtil.hexDump(client.callBlocking(Peer.METADATA, bytes("")));
        assertTrue(plain.startsWith(route + deadline), plain);
        assertEquals((route + deadline).length() + 8, plain.length());
        assertFalse((options + "" + client).contains("secret"));
    }

    @Test
    void aTraceIsAskedForOnTheThreadThatCalls() throws Exception {
        AtomicReference<Thread> asked = new AtomicReference<>();
        TraceContext trace = new TraceContext() {
            @Override
            public String traceParent() {
                asked.set(Thread.currentThread());
                return "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
            }

            @Override
            public String traceState() {
                return "a=1";
            }
        };
        try (RpcClient traced = RpcClient.builder().instances(peer.address()).trace(trace)
                .bearer("mine").start()) {
            String hex = ByteBufUtil.hexDump(traced.callBlocking(Peer.METADATA, bytes("")));
            assertEquals(Thread.currentThread(), asked.get());
            assertTrue(hex.contains("fc00000581" + ByteBufUtil.hexDump(bytes("mine"))), hex);
            assertTrue(hex.contains(
                    "fd000019a80af7651916cd43dd8448eb211c80319cb7ad6b7169203331"), hex);
            assertTrue(hex.contains(ByteBufUtil.hexDump(bytes("a=1"))), hex);
        }
    }

    @Test
    void aDeadlineIsAnsweredLocallyAndTheServiceIsNotified() throws Exception {
        long begin = System.nanoTime();
        DeadlineExceeded failure = Wait.failure(DeadlineExceeded.class, client.call(Peer.NEVER,
                bytes(""), CallOptions.DEFAULT.deadline(Duration.ofMillis(50))));
        long ms = (System.nanoTime() - begin) / 1_000_000;
        assertTrue(ms >= 50 && ms < 5_000, ms + " ms");
        assertTrue(failure.mayHaveHappened());
        Wait.until(() -> peer.cancels.get() == 1, "the service is notified");
    }

    @Test
    void aCallThatIsGivenUpIsCancelledAtTheService() throws Exception {
        CompletableFuture<byte[]> future = client.call(Peer.NEVER, bytes(""));
        Wait.until(() -> peer.requests.get() == 1, "the request arrives");
        assertTrue(future.cancel(false));
        Wait.until(() -> peer.cancels.get() == 1, "the service is notified");
        CompletableFuture<byte[]> handled = new CompletableFuture<>();
        CallHandle call = client.call(Peer.NEVER, bytes(""), CallOptions.DEFAULT,
                handler(handled));
        Wait.until(() -> peer.requests.get() == 2, "the request arrives");
        call.cancel();
        Wait.failure(Cancelled.class, handled);
        Wait.until(() -> peer.cancels.get() == 2, "the service is notified");
    }

    @Test
    void anInterruptedCallerGivesUp() throws Exception {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread caller = new Thread(() -> {
            try {
                client.callBlocking(Peer.NEVER, bytes(""));
            } catch (Cancelled e) {
                thrown.set(Thread.currentThread().isInterrupted() ? e : null);
            }
        });
        caller.start();
        Wait.until(() -> peer.requests.get() == 1, "the request arrives");
        caller.interrupt();
        caller.join(10_000);
        assertInstanceOf(Cancelled.class, thrown.get());
        Wait.until(() -> peer.cancels.get() == 1, "the service is notified");
    }

    @Test
    void errorsAreTypedAndBlockingFormsHaveTheTraceOfTheirCaller() {
        Rejected rejected = assertThrows(Rejected.class, () ->
                client.callBlocking(Peer.ERROR, error(0x201, "GEO-001: no such latitude")));
        assertEquals("GEO-001", rejected.code());
        assertFalse(rejected.mayHaveHappened());
        assertTrue(Arrays.stream(rejected.getStackTrace()).anyMatch(
                one -> one.getClassName().equals(CallsTest.class.getName())));
        Unknown unknown = assertThrows(Unknown.class, () ->
                client.callBlocking(Peer.ERROR, error(0x201, "UNKNOWN GEO-7: disk")));
        assertTrue(unknown.mayHaveHappened());
        ApplicationError error = assertThrows(ApplicationError.class, () ->
                client.callBlocking(Peer.ERROR, error(0x301, "mine")));
        assertEquals(0x301, error.number());
        Rejected noRoute = assertThrows(Rejected.class, () -> client.callBlocking(
                Method.unary("test/Nothing", Codec.BYTES, Codec.BYTES), bytes("")));
        assertEquals("RPC-002", noRoute.code());
    }

    @Test
    void busyIsTriedAgainWithinItsAttemptsAndThenHandedOut() throws Exception {
        Busy busy = Wait.failure(Busy.class,
                client.call(Peer.ERROR, error(0x202, "BUSY retry_after_ms=7: full")));
        assertEquals(Duration.ofMillis(7), busy.retryAfter());
        assertEquals("full", busy.reason());
        assertEquals(3, peer.requests.get());
        // A delay that does not fit the deadline is not waited for.
        long begin = System.nanoTime();
        Wait.failure(Busy.class, client.call(Peer.ERROR,
                error(0x202, "BUSY retry_after_ms=60000: full"),
                CallOptions.DEFAULT.deadline(Duration.ofSeconds(10))));
        assertTrue(System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(5));
        assertEquals(4, peer.requests.get());
    }

    @Test
    void payloadsThatAreTooLargeAreRefusedAndTheConnectionGoesOn() throws Exception {
        try (RpcClient small = RpcClient.builder().instances(peer.address())
                .payloadBytesMax(1_000).start()) {
            Rejected rejected = Wait.failure(Rejected.class,
                    small.call(Peer.ECHO, new byte[2_000]));
            assertEquals("RPC-006", rejected.code());
            assertEquals(900, small.callBlocking(Peer.ECHO, new byte[900]).length);
        }
        assertEquals(1_000_000, client.callBlocking(Peer.ECHO, new byte[1_000_000]).length);
    }

    @Test
    void aOneWayRequestArrives() throws Exception {
        Wait.answer(client.oneWay(Peer.NOTE, bytes("noted")));
        Wait.until(() -> peer.notes.contains("noted"), "the request arrives");
    }

    @Test
    void aHandlerThatCallsAgainAtOnceDoesNotExhaustTheStack() throws Exception {
        CountDownLatch failures = new CountDownLatch(20_000);
        // Nothing listens there, and no call may wait.
        try (RpcClient none = RpcClient.builder().instances("127.0.0.1:1").waitingMax(0)
                .start()) {
            AnswerHandler<byte[]> again = new AnswerHandler<>() {
                @Override
                public void onAnswer(byte[] answer) {}

                @Override
                public void onFailure(RpcException failure) {
                    failures.countDown();
                    if (failures.getCount() > 0) {
                        none.call(Peer.ECHO, bytes(""), CallOptions.DEFAULT, this);
                    }
                }
            };
            none.call(Peer.ECHO, bytes(""), CallOptions.DEFAULT, again);
            assertTrue(failures.await(30, TimeUnit.SECONDS), failures.toString());
        }
    }

    @Test
    void anEventLoopIsNotBlocked() throws Exception {
        CompletableFuture<Object> inside = new CompletableFuture<>();
        client.call(Peer.ECHO, bytes(""), CallOptions.DEFAULT, new AnswerHandler<byte[]>() {
            @Override
            public void onAnswer(byte[] answer) {
                try {
                    inside.complete(client.callBlocking(Peer.ECHO, answer));
                } catch (IllegalStateException e) {
                    inside.complete(e);
                }
            }

            @Override
            public void onFailure(RpcException failure) {
                inside.complete(failure);
            }
        });
        assertInstanceOf(IllegalStateException.class, Wait.answer(inside));
    }

    @Test
    void closeEndsCallsUnderWayAndRefusesLaterOnes() throws Exception {
        List<CompletableFuture<byte[]>> futures = new ArrayList<>();
        for (int nth = 0; nth < 100; nth++) {
            futures.add(client.call(Peer.NEVER, bytes("")));
        }
        RpcStream<byte[]> stream = client.stream(Peer.COUNT, bytes("1000000"));
        assertArrayEquals(bytes("1"), stream.next());
        Wait.until(() -> peer.requests.get() == 101, "the requests arrive");
        client.close();
        for (CompletableFuture<byte[]> future : futures) {
            Wait.failure(Cancelled.class, future);
        }
        assertThrows(Cancelled.class, () -> stream.forEachRemaining(each -> { }));
        Wait.failure(Unavailable.class, client.call(Peer.ECHO, bytes("")));
        Wait.until(peer.connections::isEmpty, "the connection ends");
    }

    @Test
    void severalLoopsServeSeveralThreads() throws Exception {
        try (RpcClient wide = RpcClient.builder().instances(peer.address()).loops(3).start()) {
            List<Thread> threads = new ArrayList<>();
            AtomicInteger answered = new AtomicInteger();
            for (int nth = 0; nth < 12; nth++) {
                Thread thread = new Thread(() -> {
                    for (int call = 0; call < 25; call++) {
                        answered.addAndGet(wide.callBlocking(Peer.ECHO, new byte[1]).length);
                    }
                });
                thread.start();
                threads.add(thread);
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(300, answered.get());
            assertEquals(3, peer.connections.size());
        }
    }
}
