package io.stadium.rpc.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.stadium.rpc.ConnectionBroken;
import io.stadium.rpc.DeadlineExceeded;
import io.stadium.rpc.Explanation;
import io.stadium.rpc.Method;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unavailable;
import io.stadium.rpc.discovery.Instance;
import io.stadium.rpc.discovery.InstanceSource;
import io.stadium.rpc.discovery.Instances;
import io.stadium.rsocket.connection.LeaseMode;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Instances that fail, leave, return or never answer. */
@Timeout(60)
class FaultsTest {
    private static final byte[] EMPTY = {};

    private static ClientBuilder clientOf(String... addresses) {
        return RpcClient.builder().instances(addresses).busyPoll(Duration.ZERO);
    }

    private static String freeAddress() throws Exception {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return "127.0.0.1:" + socket.getLocalPort();
        }
    }

    @Test
    void callsWaitForAGraceWhereNothingListensAndThenFailAtOnce() throws Exception {
        String address = freeAddress();
        try (RpcClient client = clientOf(address).unreachableGrace(Duration.ofMillis(200))
                .start()) {
            long begin = System.nanoTime();
            Unavailable failure =
                    Wait.failure(Unavailable.class, client.call(Peer.ECHO, EMPTY));
            assertTrue(System.nanoTime() - begin >= TimeUnit.MILLISECONDS.toNanos(150));
            assertFalse(failure.mayHaveHappened());
            assertEquals(address, failure.tried().get(0).address());
            assertTrue(failure.getMessage().contains("refused"), failure.getMessage());
            begin = System.nanoTime();
            Wait.failure(Unavailable.class, client.call(Peer.ECHO, EMPTY));
            assertTrue(System.nanoTime() - begin < TimeUnit.MILLISECONDS.toNanos(150));
        }
    }

    @Test
    void soManyCallsWaitAndTheNextOneFails() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                RpcClient client = clientOf("127.0.0.1:" + silent.getLocalPort())
                        .waitingMax(5).tls(SslContextBuilder.forClient().build()).start()) {
            // The handshake does not end, so no connection is up.
            List<CompletableFuture<byte[]>> calls = new ArrayList<>();
            for (int nth = 0; nth < 5; nth++) {
                calls.add(client.call(Peer.ECHO, EMPTY));
            }
            Unavailable failure =
                    Wait.failure(Unavailable.class, client.call(Peer.ECHO, EMPTY));
            assertTrue(failure.getMessage().contains("5 calls"), failure.getMessage());
            assertFalse(calls.get(0).isDone());
        }
    }

    @Test
    void aServerThatAcceptsAndNeverAnswersIsAbandoned() throws Exception {
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                RpcClient client = clientOf("127.0.0.1:" + silent.getLocalPort())
                        .keepAlive(Duration.ofMillis(50), Duration.ofMillis(300)).start()) {
            Wait.failure(DeadlineExceeded.class, client.call(Peer.ECHO, EMPTY,
                    CallOptions.DEFAULT.deadline(Duration.ofMillis(100))));
            ConnectionBroken broken =
                    Wait.failure(ConnectionBroken.class, client.call(Peer.ECHO, EMPTY));
            assertTrue(broken.getMessage().contains("No keep-alive"), broken.getMessage());
        }
    }

    @Test
    void callsUnderWayOnALostConnectionFailAndIdempotentOnesAreMadeAgain() throws Exception {
        try (Peer first = new Peer(); Peer second = new Peer();
                RpcClient client = clientOf(first.address(), second.address()).hedging(false)
                        .start()) {
            Wait.until(() -> {
                client.callBlocking(Peer.ECHO, EMPTY);
                return first.connections.size() == 1 && second.connections.size() == 1;
            }, "both are connected");
            CallOptions toFirst = keyOf(first, client);
            first.isStalled = true;
            int before = first.requests.get();
            List<CompletableFuture<byte[]>> once = new ArrayList<>();
            List<CompletableFuture<byte[]>> again = new ArrayList<>();
            // Fewer than the budget allows to be made again within a second.
            for (int nth = 0; nth < 8; nth++) {
                once.add(client.call(Peer.ECHO, EMPTY, toFirst));
                again.add(client.call(Peer.ECHO.idempotent(), EMPTY, toFirst));
            }
            Wait.until(() -> first.requests.get() == before + 16, "all arrive");
            first.isStalled = false;
            first.drop();
            for (CompletableFuture<byte[]> each : again) {
                assertArrayEquals(EMPTY, Wait.answer(each));
            }
            for (CompletableFuture<byte[]> each : once) {
                Wait.failure(ConnectionBroken.class, each);
            }
            Wait.until(() -> first.connections.size() == 1, "it is connected again");
        }
    }

    @Test
    void aSlowInstanceIsHedged() throws Exception {
        try (Peer first = new Peer(); Peer second = new Peer();
                RpcClient client = clientOf(first.address(), second.address()).start()) {
            Method<byte[], byte[]> echo = Peer.ECHO.idempotent();
            for (int nth = 0; nth < 400; nth++) {
                client.callBlocking(echo, EMPTY);
            }
            assertEquals(1, first.connections.size());
            assertEquals(1, second.connections.size());
            first.isStalled = true;
            // Calls at the same time go to both. A copy is answered, and the attempt at the slow
            // instance is cancelled. A call without a copy, because the budget is spent, is
            // cancelled at its deadline: that does not count.
            AtomicInteger atDeadlines = new AtomicInteger();
            Wait.until(() -> {
                List<CompletableFuture<byte[]>> calls = new ArrayList<>();
                for (int nth = 0; nth < 10; nth++) {
                    calls.add(client.call(echo, EMPTY,
                            CallOptions.DEFAULT.deadline(Duration.ofSeconds(1))));
                }
                for (CompletableFuture<byte[]> call : calls) {
                    if (call.handle((answer, failure) -> failure != null).join()) {
                        atDeadlines.incrementAndGet();
                    }
                }
                return first.cancels.get() > atDeadlines.get();
            }, "an attempt at the slow instance is cancelled");
        }
    }

    @Test
    void anInstanceThatMissesDeadlinesIsEjected() throws Exception {
        try (Peer first = new Peer(); Peer second = new Peer();
                RpcClient client = clientOf(first.address(), second.address()).hedging(false)
                        .attempts(1).start()) {
            Wait.until(() -> {
                client.callBlocking(Peer.ECHO, EMPTY);
                return first.connections.size() == 1 && second.connections.size() == 1;
            }, "both are connected");
            first.isStalled = true;
            CallOptions soon = CallOptions.DEFAULT.deadline(Duration.ofMillis(40));
            Wait.until(() -> {
                List<CompletableFuture<byte[]>> calls = new ArrayList<>();
                for (int nth = 0; nth < 20; nth++) {
                    calls.add(client.call(Peer.ECHO, EMPTY, soon));
                }
                calls.forEach(call -> call.handle((answer, failure) -> answer).join());
                return client.explain("test").join().instances().stream().anyMatch(one ->
                        one.address().equals(first.address())
                                && one.state() == Explanation.State.EJECTED);
            }, "it is ejected");
        }
    }

    @Test
    void anInstanceThatLeavesGetsNoNewCalls() throws Exception {
        try (Peer first = new Peer(); Peer second = new Peer();
                RpcClient client = clientOf(first.address(), second.address()).start()) {
            Wait.until(() -> {
                client.callBlocking(Peer.ECHO, EMPTY);
                return first.connections.size() == 1 && second.connections.size() == 1;
            }, "both are connected");
            first.pushLoad(0.5f, true);
            Wait.until(() -> client.explain("test").join().instances().stream().anyMatch(one ->
                    one.state() == Explanation.State.QUIESCING && one.load() == 0.5f), "known");
            int before = first.requests.get();
            for (int nth = 0; nth < 50; nth++) {
                client.callBlocking(Peer.ECHO, EMPTY);
            }
            assertEquals(before, first.requests.get());
            String text = client.explain("test", new byte[] {1}).join().toString();
            assertTrue(text.contains("quiescing") && text.contains(second.address()), text);
            assertTrue(text.contains("key"), text);
        }
    }

    @Test
    void aKeyStaysWithItsInstanceAndMovesWhenThatIsLost() throws Exception {
        Peer first = new Peer();
        try (Peer second = new Peer();
                RpcClient client = clientOf(first.address(), second.address()).start()) {
            CallOptions key = keyOf(first, client);
            for (int nth = 0; nth < 20; nth++) {
                client.callBlocking(Peer.ECHO, EMPTY, key);
            }
            assertEquals(20, first.requests.get());
            first.close();
            Wait.until(() -> {
                try {
                    client.callBlocking(Peer.ECHO, EMPTY, key);
                    return second.requests.get() > 0;
                } catch (RpcException e) {
                    return false;
                }
            }, "the key moves");
        } finally {
            first.close();
        }
    }

    /** Options with a key that belongs to the peer. */
    private static CallOptions keyOf(Peer peer, RpcClient client) throws Exception {
        for (byte nth = 0; nth >= 0; nth++) {
            byte[] key = {nth};
            if (peer.address().equals(client.explain("test", key).get().chosen())) {
                return CallOptions.DEFAULT.key(key);
            }
        }
        throw new AssertionError("no key belongs to " + peer.address());
    }

    @Test
    void noRequestIsSentWithoutALease() throws Exception {
        try (Peer peer = new Peer(null, LeaseMode.GRANT);
                RpcClient client = clientOf(peer.address()).leases(true).start()) {
            CompletableFuture<byte[]> call = client.call(Peer.ECHO, EMPTY);
            Wait.until(() -> peer.connections.size() == 1, "connected");
            // It was never sent, so nothing happened.
            Wait.failure(Unavailable.class, client.call(Peer.ECHO, EMPTY,
                    CallOptions.DEFAULT.deadline(Duration.ofMillis(60))));
            assertEquals(0, peer.requests.get());
            peer.grantLeases(1);
            Wait.answer(call);
            assertEquals(1, peer.requests.get());
        }
    }

    /** A registry whose list the test sets. */
    private static final class Registry implements InstanceSource {
        private final List<Consumer<Instances>> listeners = new ArrayList<>();
        private final AtomicInteger failures = new AtomicInteger();
        private Instances present = new Instances(List.of(), false, false, "not heard");

        synchronized void set(String... addresses) {
            List<Instance> list = new ArrayList<>();
            for (String address : addresses) {
                list.add(Instance.at(address));
            }
            present = new Instances(list, true, true, "live");
            listeners.forEach(each -> each.accept(present));
        }

        @Override
        public synchronized Watch watch(String service, Consumer<Instances> listener) {
            listeners.add(listener);
            listener.accept(present);
            return () -> {
                synchronized (this) {
                    listeners.remove(listener);
                }
            };
        }

        @Override
        public void connectionFailed() {
            failures.incrementAndGet();
        }

        @Override
        public void close() {}
    }

    @Test
    void callsFollowDiscovery() throws Exception {
        Registry registry = new Registry();
        try (Peer first = new Peer(); Peer second = new Peer(); RpcClient client =
                RpcClient.builder().discovery(registry).busyPoll(Duration.ZERO).start()) {
            CompletableFuture<byte[]> early = client.call(Peer.ECHO, EMPTY);
            Thread.sleep(20);
            registry.set(first.address());
            Wait.answer(early);
            assertEquals(1, first.requests.get());
            CompletableFuture<byte[]> underWay = client.call(Peer.NEVER, EMPTY,
                    CallOptions.DEFAULT.deadline(Duration.ofMillis(300)));
            Wait.until(() -> first.requests.get() == 2, "the request arrives");
            registry.set(second.address());
            Wait.answer(client.call(Peer.ECHO, EMPTY));
            assertEquals(1, second.requests.get());
            // What is under way goes on; then the connection ends.
            Wait.failure(DeadlineExceeded.class, underWay);
            Wait.until(first.connections::isEmpty, "the connection ends");
            registry.set();
            Unavailable none = Wait.failure(Unavailable.class, client.call(Peer.ECHO, EMPTY));
            assertTrue(none.getMessage().contains("no instance of `test` is known"),
                    none.getMessage());
        }
        assertTrue(registry.listeners.isEmpty());
    }

    @Test
    void aNameIsLookedUp() throws Exception {
        try (Peer peer = new Peer(); RpcClient client = clientOf(
                peer.address().replace("127.0.0.1", "localhost")).start()) {
            assertArrayEquals(EMPTY, client.callBlocking(Peer.ECHO, EMPTY));
        }
        assertThrows(IllegalArgumentException.class, () -> clientOf("localhost"));
        assertThrows(IllegalArgumentException.class, () -> RpcClient.builder().start());
    }

    @Test
    void connectionsAreEncrypted(@TempDir Path folder) throws Exception {
        char[] password = "loopback".toCharArray();
        Path file = folder.resolve("keys.p12");
        Process keytool = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair", "-alias", "server", "-keyalg", "EC", "-dname", "CN=geo.internal",
                "-ext", "SAN=dns:geo.internal", "-storetype", "PKCS12", "-keystore",
                file.toString(), "-storepass", new String(password)).inheritIO().start();
        assertEquals(0, keytool.waitFor());
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            keys.load(in, password);
        }
        KeyManagerFactory own =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys, password);
        TrustManagerFactory trusted =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(keys);
        SslContext context = SslContextBuilder.forClient().trustManager(trusted).build();
        try (Peer peer = new Peer(SslContextBuilder.forServer(own).build(), LeaseMode.OFF)) {
            try (RpcClient client = clientOf(peer.address()).tls(context)
                    .serverName("geo.internal").start()) {
                assertArrayEquals(EMPTY, client.callBlocking(Peer.ECHO, EMPTY));
            }
            try (RpcClient other = clientOf(peer.address()).tls(context)
                    .unreachableGrace(Duration.ZERO).start()) {
                Wait.failure(Unavailable.class, other.call(Peer.ECHO, EMPTY));
            }
        }
    }

    @Test
    void aListenerIsNotified() throws Exception {
        List<String> events = new java.util.concurrent.CopyOnWriteArrayList<>();
        ClientListener listener = new ClientListener() {
            @Override
            public void onCallEnded(String route, RpcException failure, long us, int attempts) {
                events.add(route + " " + (failure == null) + " " + attempts);
            }

            @Override
            public void onConnected(String service, String address) {
                events.add("connected " + service);
            }

            @Override
            public void onDisconnected(String service, String address, String why) {
                events.add("disconnected " + service);
            }
        };
        try (Peer peer = new Peer();
                RpcClient client = clientOf(peer.address()).listener(listener).start()) {
            client.callBlocking(Peer.ECHO, EMPTY);
            Wait.failure(DeadlineExceeded.class, client.call(Peer.NEVER, EMPTY,
                    CallOptions.DEFAULT.deadline(Duration.ofMillis(20))));
            peer.drop();
            Wait.until(() -> events.contains("disconnected test"), "disconnected");
        }
        assertEquals(List.of("connected test", "test/Echo true 1", "test/Never false 1"),
                events.subList(0, 3));
    }
}
