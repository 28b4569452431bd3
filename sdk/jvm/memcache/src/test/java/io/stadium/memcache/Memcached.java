package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A memcached of a test's own, on a Unix socket or a port that the kernel chose; it ends with its
 * value. Without memcached on the PATH a test fails, with the name of the package.
 */
final class Memcached implements AutoCloseable {
    private final Path folder;
    private final List<String> arguments;
    private Process process;
    /** As a client names it. */
    final String address;

    private Memcached(String address, Path folder, List<String> listen, String... more)
            throws Exception {
        this.address = address;
        this.folder = folder;
        arguments = new ArrayList<>(List.of("memcached", "-u", "root", "-t", "1", "-U", "0"));
        arguments.addAll(listen);
        arguments.addAll(List.of(more));
        start();
    }

    static Memcached tcp(String... arguments) throws Exception {
        // It was free a moment ago; the server comes back at the same one.
        int port = freePort();
        return new Memcached("127.0.0.1:" + port, null,
                List.of("-l", "127.0.0.1", "-p", Integer.toString(port)), arguments);
    }

    static Memcached unix(String... arguments) throws Exception {
        Path folder = Files.createTempDirectory("memcached");
        String path = folder.resolve("sock").toString();
        return new Memcached(path, folder, List.of("-s", path), arguments);
    }

    static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    /** Starts it, where it does not run, at the same address. */
    void start() throws Exception {
        kill();
        try {
            process = new ProcessBuilder(arguments).redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        } catch (IOException error) {
            throw new AssertionError("memcached starts: apt-get install memcached", error);
        }
        Process started = process;
        Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly));
        if (!arguments.contains("-Z")) {
            try (MemcacheClient client = client()) {
                Soon.until("memcached answers on " + address, () -> {
                    try {
                        client.connectAll();
                    } catch (NotAuthenticated error) {
                        // With -Y: it answers.
                    }
                    return true;
                });
            }
        }
    }

    /** Kills it. */
    void kill() throws InterruptedException {
        if (process != null) {
            process.destroyForcibly().waitFor(Soon.SECONDS, TimeUnit.SECONDS);
        }
    }

    /** Stops it with SIGSTOP, until {@link #resume}. */
    void pause() throws Exception {
        signal("STOP");
        // The signal reaches each of its threads at a time of its own.
        Path tasks = Path.of("/proc/" + process.pid() + "/task");
        Soon.until("memcached stops", () -> {
            try (Stream<Path> all = Files.list(tasks)) {
                return all.allMatch(Memcached::isStopped);
            }
        });
    }

    private static boolean isStopped(Path task) {
        try {
            String stat = Files.readString(task.resolve("stat"));
            return stat.startsWith("T", stat.lastIndexOf(") ") + 2);
        } catch (IOException error) {
            return false;
        }
    }

    void resume() throws Exception {
        signal("CONT");
    }

    private void signal(String name) throws Exception {
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start();
        assertTrue(kill.waitFor(Soon.SECONDS, TimeUnit.SECONDS) && kill.exitValue() == 0);
    }

    /** Settings for this server alone. */
    ClientBuilder settings() {
        return MemcacheClient.builder().servers(address).timeout(Duration.ofSeconds(5));
    }

    MemcacheClient client() {
        return settings().build();
    }

    @Override
    public void close() throws IOException {
        try {
            kill();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        if (folder != null) {
            Files.deleteIfExists(folder.resolve("sock"));
            Files.delete(folder);
        }
    }

    /**
     * A server that greets as memcached does, and answers everything else with {@code answer}; then
     * it keeps the connection open, or closes it.
     */
    static final class Impostor implements AutoCloseable {
        private final ServerSocket listener =
                new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
        private final byte[] answer;
        private final boolean closes;

        Impostor(String answer, boolean closes) throws IOException {
            this.answer = answer.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1);
            this.closes = closes;
            daemon(this::accept);
        }

        String address() {
            return "127.0.0.1:" + listener.getLocalPort();
        }

        private static void daemon(Runnable work) {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            thread.start();
        }

        private void accept() {
            try {
                while (true) {
                    Socket socket = listener.accept();
                    daemon(() -> serve(socket));
                }
            } catch (IOException ended) {
                // The listener is closed.
            }
        }

        private void serve(Socket socket) {
            byte[] buffer = new byte[4_096];
            try (socket; InputStream in = socket.getInputStream();
                    OutputStream out = socket.getOutputStream()) {
                for (boolean isGreeted = false; in.read(buffer) > 0; isGreeted = true) {
                    out.write(isGreeted ? answer : "MN\r\n".getBytes(US_ASCII));
                    if (isGreeted && closes) {
                        return;
                    }
                }
            } catch (IOException ended) {
                // The client left.
            }
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }
}
