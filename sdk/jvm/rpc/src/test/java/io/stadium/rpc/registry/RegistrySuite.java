package io.stadium.rpc.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.stadium.rpc.Codec;
import io.stadium.rpc.Method;
import io.stadium.rpc.Programs;
import io.stadium.rpc.client.RpcClient;
import io.stadium.rpc.discovery.Instance;
import io.stadium.rpc.discovery.Instances;
import io.stadium.rpc.server.RpcServer;
import io.stadium.rpc.server.Service;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * What every registry does, with a real backend that is killed and started again. A module extends
 * it with its backend.
 */
@Timeout(300)
public abstract class RegistrySuite {
    private static final int SOON_S = 120;
    private static final Method<byte[], byte[]> ECHO =
            Method.unary("echo/Echo", Codec.BYTES, Codec.BYTES);

    @TempDir protected Path folder;
    protected final int port = freePort();
    private Process backend;

    /** The command of the backend's process, which listens on {@link #port}. */
    protected abstract List<String> command(Path data) throws IOException;

    /** A registry of this backend whose entries outlive their process by that time. */
    protected abstract Registry open(int port, Duration sessionTtl);

    /** The backend as {@code stadium service --discovery} names it. */
    protected abstract String url();

    /** The option of the example geo-service that names the backend. */
    protected abstract List<String> geoOption();

    protected static int freePort() {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private Path data() throws IOException {
        return Files.createDirectories(folder.resolve("data"));
    }

    private void start() throws Exception {
        backend = new ProcessBuilder(command(data())).redirectErrorStream(true)
                .redirectOutput(folder.resolve("log").toFile()).start();
        until("the backend listens", () -> {
            try (Socket socket = new Socket("127.0.0.1", port)) {
                return socket.isConnected();
            } catch (IOException e) {
                return false;
            }
        });
    }

    @AfterEach
    void kill() throws Exception {
        if (backend != null) {
            backend.destroyForcibly().waitFor();
        }
    }

    private void wipe() throws IOException {
        try (Stream<Path> files = Files.walk(data())) {
            for (Path one : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(one);
            }
        }
    }

    private static void until(String what, BooleanSupplier isSo) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(SOON_S);
        while (!isSo.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                fail("not within " + SOON_S + " s: " + what);
            }
            Thread.sleep(10);
        }
    }

    private static RpcServer serve(Registry registry) throws IOException {
        return RpcServer.builder().listen("127.0.0.1", 0).registrar(registry).zone("a").weight(50)
                .inlineWaitMax(Duration.ofSeconds(30))
                .service(Service.builder("echo", "2")
                        .inline(ECHO, (call, request) -> request).build())
                .start();
    }

    /** The last list that a watcher got. */
    private static final class Watched {
        private volatile Instances last;

        Watched(Registry registry, String service) {
            registry.watch(service, list -> last = list);
        }

        boolean has(int count, boolean isLive) {
            Instances list = last;
            return list != null && list.isKnown() && list.instances().size() == count
                    && list.isLive() == isLive;
        }
    }

    @Test
    void listsAndEntriesOutliveTheBackend() throws Exception {
        Duration ttl = Duration.ofSeconds(3);
        try (Registry servers = open(port, ttl); Registry clients = open(port, ttl);
                RpcServer server = serve(servers);
                RpcClient client = RpcClient.builder().discovery(clients)
                        .deadline(Duration.ofSeconds(60)).start()) {
            // A process that starts without its backend knows nothing until that is there.
            Watched watched = new Watched(clients, "echo");
            until("there is a list", () -> watched.last != null);
            assertFalse(watched.last.isKnown());
            start();
            until("it is registered", () -> watched.has(1, true));
            Instance instance = watched.last.instances().get(0);
            assertEquals("127.0.0.1:" + server.address().getPort(), instance.address());
            assertEquals("2", instance.version());
            assertEquals("a", instance.value().zone());
            assertEquals(50, instance.value().weight());
            assertEquals(1, client.callBlocking(ECHO, new byte[1]).length);

            kill();
            until("the list is stale", () -> watched.has(1, false));
            assertEquals(2, client.callBlocking(ECHO, new byte[2]).length);
            start();
            until("the list is live again", () -> watched.has(1, true));

            kill();
            wipe();
            start();
            // The list has it all the time: first in doubt, then registered again.
            until("it is registered again", () -> watched.has(1, true));
            assertEquals(3, client.callBlocking(ECHO, new byte[3]).length);

            server.quiesce(Duration.ofSeconds(60));
            until("it has left", () -> watched.has(0, true));
        }
    }

    private String cli(String... words) throws Exception {
        Path out = folder.resolve("out");
        Stream<String> command = Stream.concat(
                Stream.of(Programs.named("STADIUM_BIN"), "service"), Stream.of(words));
        Process process = new ProcessBuilder(Stream.concat(command,
                Stream.of("--discovery", url(), "--deadline", "60s", "--json")).toList())
                .redirectErrorStream(true).redirectOutput(out.toFile()).start();
        try {
            assertTrue(process.waitFor(SOON_S, TimeUnit.SECONDS), "the CLI hangs");
            return Files.readString(out);
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    @Test
    void rustAndJavaFindEachOther() throws Exception {
        Programs.named("STADIUM_BIN");
        String geoService = Programs.named("STADIUM_GEO");
        start();
        Duration ttl = Duration.ofSeconds(3);
        Process geo = null;
        try (Registry registry = open(port, ttl); RpcServer server = serve(registry)) {
            Watched echo = new Watched(registry, "echo");
            until("it is registered", () -> echo.has(1, true));
            String listed = cli("list");
            assertTrue(listed.contains("127.0.0.1:" + server.address().getPort()), listed);
            String health = cli("health", "echo");
            assertTrue(health.toLowerCase().contains("serving"), health);

            List<String> command = Stream.concat(
                    Stream.of(geoService, "--listen", "127.0.0.1:0", "--log-level", "warn"),
                    geoOption().stream()).toList();
            geo = new ProcessBuilder(command).redirectErrorStream(true)
                    .redirectOutput(folder.resolve("geo").toFile()).start();
            Watched found = new Watched(registry, "geo");
            until("the Rust service is found", () -> found.has(1, true));
            // SIGTERM: it withdraws.
            geo.destroy();
            until("the Rust service has left", () -> found.has(0, true));
        } finally {
            if (geo != null) {
                geo.destroyForcibly().waitFor();
            }
        }
    }
}
