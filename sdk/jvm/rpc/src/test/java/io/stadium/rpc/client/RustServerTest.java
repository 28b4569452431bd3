package io.stadium.rpc.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.rpc.Busy;
import io.stadium.rpc.Codec;
import io.stadium.rpc.ConnectionBroken;
import io.stadium.rpc.DeadlineExceeded;
import io.stadium.rpc.EchoServer;
import io.stadium.rpc.Explanation;
import io.stadium.rpc.Method;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Calls processes of the Rust server, which are killed and stopped. */
@Timeout(90)
class RustServerTest {
    private static final byte[] SAMPLE = EchoServer.sample(7, 2);

    private static ClientBuilder clientOf(EchoServer... servers) {
        return RpcClient.builder()
                .instances(Arrays.stream(servers).map(EchoServer::address).toArray(String[]::new))
                .busyPoll(Duration.ZERO);
    }

    /** Waits until both instances answer calls. */
    private static void connectBoth(RpcClient client, Method<byte[], byte[]> method)
            throws Exception {
        Wait.until(() -> {
            answerOf(client.call(method, SAMPLE));
            return client.explain("echo").join().instances().stream().allMatch(one ->
                    one.state() == Explanation.State.SERVING && !Double.isNaN(one.latencyUs()));
        }, "both answer");
    }

    /** The failure of a call, or {@code null}. */
    private static RpcException answerOf(CompletableFuture<byte[]> call) {
        try {
            assertArrayEquals(SAMPLE, call.join());
            return null;
        } catch (CompletionException e) {
            return assertInstanceOf(RpcException.class, e.getCause());
        }
    }

    @Test
    void messagesOfAllSizesAreAnswered() throws Exception {
        try (EchoServer server = EchoServer.start(); RpcClient client = clientOf(server)
                .deadline(Duration.ofSeconds(30)).attempts(10).start()) {
            for (int elements : new int[] {0, 2, 200, 10_000, 100_000}) {
                byte[] sample = EchoServer.sample(3, elements);
                assertArrayEquals(sample, client.callBlocking(EchoServer.ECHO, sample));
            }
            Method<byte[], byte[]> wrong = Method.unary("echo/Wrong", Codec.BYTES, Codec.BYTES);
            assertEquals("RPC-002", assertThrows(Rejected.class, () ->
                    client.callBlocking(wrong, SAMPLE)).code());
            Method<byte[], byte[]> stream = Method.stream("echo/Echo", Codec.BYTES, Codec.BYTES);
            try (RpcStream<byte[]> answers = client.stream(stream, SAMPLE)) {
                assertEquals("RPC-003", assertThrows(Rejected.class, answers::next).code());
            }
            Method<byte[], byte[]> channel =
                    Method.channel("echo/Echo", Codec.BYTES, Codec.BYTES);
            try (RpcChannel<byte[], byte[]> open =
                    client.channel(channel, SAMPLE, CallOptions.DEFAULT)) {
                assertEquals("RPC-003",
                        assertThrows(Rejected.class, () -> open.answers().next()).code());
            }
            Wait.answer(client.oneWay(Method.oneWay("echo/Echo", Codec.BYTES), SAMPLE));
            assertEquals("RPC-004", assertThrows(Rejected.class, () ->
                    client.callBlocking(EchoServer.ECHO, new byte[] {(byte) 0xff})).code());
        }
    }

    @Test
    void anOverloadedServerIsBusyAndNothingHangs() throws Exception {
        try (EchoServer server = EchoServer.start("--cost-us", "2000");
                RpcClient client = clientOf(server).start()) {
            client.callBlocking(EchoServer.ECHO, SAMPLE);
            List<CompletableFuture<byte[]>> calls = new ArrayList<>();
            for (int nth = 0; nth < 300; nth++) {
                calls.add(client.call(EchoServer.ECHO, SAMPLE,
                        CallOptions.DEFAULT.deadline(Duration.ofSeconds(2))));
            }
            int busy = 0;
            int answered = 0;
            for (CompletableFuture<byte[]> call : calls) {
                RpcException failure = answerOf(call);
                busy += failure instanceof Busy ? 1 : 0;
                answered += failure == null ? 1 : 0;
            }
            assertTrue(busy > 0 && answered > 0, busy + " busy, " + answered + " answered");
        }
    }

    @Test
    void aKilledServerCostsOnlyTheCallsUnderWayThere() throws Exception {
        try (EchoServer first = EchoServer.start("--cost-us", "50");
                EchoServer second = EchoServer.start("--cost-us", "50");
                RpcClient client = clientOf(first, second).hedging(false).start()) {
            Method<byte[], byte[]> again = EchoServer.ECHO.idempotent();
            connectBoth(client, EchoServer.ECHO);
            int inFlight = 16;
            List<CompletableFuture<byte[]>> once = new ArrayList<>();
            List<CompletableFuture<byte[]>> twice = new ArrayList<>();
            int broken = 0;
            for (int round = 0; round < 120; round++) {
                once.clear();
                twice.clear();
                for (int nth = 0; nth < inFlight; nth++) {
                    once.add(client.call(EchoServer.ECHO, SAMPLE));
                    twice.add(client.call(again, SAMPLE));
                }
                if (round == 20) {
                    first.kill();
                }
                for (CompletableFuture<byte[]> call : once) {
                    RpcException failure = answerOf(call);
                    // A machine that is busy makes the server Busy.
                    if (failure instanceof ConnectionBroken) {
                        broken++;
                    } else if (failure != null) {
                        assertInstanceOf(Busy.class, failure);
                    }
                }
                for (CompletableFuture<byte[]> call : twice) {
                    RpcException failure = answerOf(call);
                    if (failure != null) {
                        assertInstanceOf(Busy.class, failure);
                    }
                }
            }
            assertTrue(broken <= inFlight, broken + " broken");
        }
    }

    @Test
    void aStoppedServerIsHedgedAndEjectedAndNothingHangs() throws Exception {
        EchoServer first = EchoServer.start();
        try (EchoServer second = EchoServer.start(); RpcClient client = clientOf(first, second)
                .deadline(Duration.ofMillis(400)).start()) {
            Method<byte[], byte[]> echo = EchoServer.ECHO.idempotent();
            connectBoth(client, echo);
            for (int nth = 0; nth < 500; nth++) {
                answerOf(client.call(echo, SAMPLE));
            }
            first.signal("STOP");
            int failed = 0;
            for (int nth = 0; nth < 200; nth++) {
                long begin = System.nanoTime();
                RpcException failure = answerOf(client.call(echo, SAMPLE));
                long ms = (System.nanoTime() - begin) / 1_000_000;
                assertTrue(ms < 3_000, "a call of 400 ms took " + ms + " ms");
                failed += failure == null ? 0 : 1;
            }
            assertTrue(failed < 100, failed + " of 200 failed");
            // Calls that must not be made twice reach their deadlines there, until it is ejected.
            Wait.until(() -> {
                List<CompletableFuture<byte[]>> calls = new ArrayList<>();
                for (int nth = 0; nth < 20; nth++) {
                    calls.add(client.call(EchoServer.ECHO, SAMPLE,
                            CallOptions.DEFAULT.deadline(Duration.ofMillis(50))));
                }
                calls.forEach(RustServerTest::answerOf);
                return client.explain("echo").join().instances().stream().anyMatch(one ->
                        one.address().equals(first.address())
                                && one.state() == Explanation.State.EJECTED);
            }, "it is ejected");
        } finally {
            first.close();
        }
    }

    @Test
    void aServerThatReturnsIsCalledAgain() throws Exception {
        EchoServer first = EchoServer.start();
        String address = first.address();
        try (RpcClient client = clientOf(first).unreachableGrace(Duration.ofSeconds(10))
                .deadline(Duration.ofSeconds(15)).start()) {
            client.callBlocking(EchoServer.ECHO, SAMPLE);
            first.kill();
            CompletableFuture<byte[]> waits = client.call(EchoServer.ECHO, SAMPLE);
            try (EchoServer again = EchoServer.start("--listen", address)) {
                assertEquals(address, again.address());
                // It waits for the connection, unless it was under way on the one that broke.
                RpcException failure = answerOf(waits);
                if (failure != null) {
                    assertInstanceOf(ConnectionBroken.class, failure);
                    assertEquals(null, answerOf(client.call(EchoServer.ECHO, SAMPLE)));
                }
            }
        } finally {
            first.close();
        }
    }

    @Test
    void aDeadlineTravelsWithTheRequest() throws Exception {
        try (EchoServer server = EchoServer.start("--cost-us", "100000");
                RpcClient client = clientOf(server).start()) {
            client.callBlocking(EchoServer.ECHO, SAMPLE);
            long begin = System.nanoTime();
            Wait.failure(DeadlineExceeded.class, client.call(EchoServer.ECHO, SAMPLE,
                    CallOptions.DEFAULT.deadline(Duration.ofMillis(20))));
            assertTrue(System.nanoTime() - begin < TimeUnit.SECONDS.toNanos(3));
        }
    }
}
