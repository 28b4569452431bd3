package io.stadium.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.stadium.rpc.Programs;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The real server: the binary of STADIUM_BIN on ports that the kernel chooses, with a data folder
 * of its own. It ends with the process of the tests.
 */
final class TestServer implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static TestServer shared;

    private final String binary = Programs.named("STADIUM_BIN");
    private final Path folder = Files.createTempDirectory("stadium-api-");
    private final Thread hook = new Thread(this::end);
    private Process process;
    private String address = "127.0.0.1:0";

    TestServer() throws IOException {
        Runtime.getRuntime().addShutdownHook(hook);
        start();
    }

    /** A server that the tests share; each keeps to names of its own. */
    static synchronized TestServer shared() throws IOException {
        if (shared == null) {
            shared = new TestServer();
        }
        return shared;
    }

    private void start() throws IOException {
        ProcessBuilder builder = new ProcessBuilder(binary, "serve", "--json", "--trial",
                "--data", data().toString(), "--mqtt", "off", "--http", "127.0.0.1:0",
                "--rpc", address, "--loops", "1", "--set", "shards.count=2",
                "--set", "wallet.seal_after_s=1");
        // Segments as small as they may be: a shard takes 9 MiB of disk, not 80.
        builder.environment().put("STADIUM_JOURNAL__SEGMENT_BYTES", "9437184");
        builder.environment().put("STADIUM_JOURNAL__RESERVE_BYTES", "262144");
        builder.redirectError(folder.resolve("log").toFile());
        process = builder.start();
        BufferedReader out = process.inputReader();
        String line = out.readLine();
        if (line == null) {
            throw new IOException(
                    "the server has not started: " + Files.readString(folder.resolve("log")));
        }
        for (JsonNode listener : JSON.readTree(line).get("listeners")) {
            if (listener.get("name").asText().equals("rpc")) {
                address = listener.get("address").asText();
            }
        }
    }

    String address() {
        return address;
    }

    Path folder() {
        return folder;
    }

    Path data() {
        return folder.resolve("data");
    }

    Path adminKey() {
        return data().resolve("admin.key");
    }

    Stadium connect() {
        return connect(ApiKey.file(adminKey()));
    }

    Stadium connect(ApiKey key) {
        return Stadium.builder().addresses(address).key(key)
                .deadline(Duration.ofSeconds(20)).start();
    }

    /** Kills it, and starts it again on the same data and port. */
    void restart() throws IOException, InterruptedException {
        process.destroyForcibly().waitFor(20, TimeUnit.SECONDS);
        start();
    }

    /** The output of {@code stadium ARGUMENTS}. */
    record Printed(int code, String out) {}

    Printed run(String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(binary));
        command.addAll(List.of(arguments));
        Process run = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String out = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Printed(run.waitFor(), out);
    }

    /** An API key. */
    record Key(String id, String secret) {}

    Key makeKey(String... grants) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of("key", "create", "test", "--json", "--data", data().toString()));
        command.addAll(List.of(grants));
        Printed made = run(command.toArray(String[]::new));
        JsonNode json = JSON.readTree(made.out);
        return new Key(json.get("key").get("id").asText(), json.get("secret").asText());
    }

    void revoke(Key key) throws IOException, InterruptedException {
        Printed done = run("key", "revoke", key.id, "--data", data().toString());
        if (done.code != 0) {
            throw new IOException("the key was not revoked");
        }
    }

    private void end() {
        process.destroyForcibly();
        try {
            process.waitFor(20, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        Runtime.getRuntime().removeShutdownHook(hook);
        end();
    }
}
