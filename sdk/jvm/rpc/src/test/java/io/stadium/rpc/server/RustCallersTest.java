package io.stadium.rpc.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.stadium.rpc.Programs;
import java.io.BufferedReader;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Rust clients call a Java server: the CLI, which STADIUM_BIN names, and the Python SDK, whose
 * native module STADIUM_PYTHON_MODULE names. The profile {@code interop} fails without them.
 */
@Timeout(300)
class RustCallersTest {
    private record Ended(int code, String out, String err) {}

    @TempDir Path folder;

    /** Runs the CLI against one instance. */
    private Ended cli(RpcServer server, String... words) throws Exception {
        List<String> command = new ArrayList<>(List.of(Programs.named("STADIUM_BIN"), "service"));
        command.addAll(List.of(words));
        if (!words[0].equals("quiesce")) {
            command.addAll(List.of(
                    "--instance", "127.0.0.1:" + server.address().getPort(), "--json"));
        }
        command.addAll(List.of("--deadline", "60s"));
        Path out = folder.resolve("out");
        Path err = folder.resolve("err");
        Process process = new ProcessBuilder(command)
                .redirectOutput(out.toFile()).redirectError(err.toFile()).start();
        try {
            assertTrue(process.waitFor(Caller.SOON_S, TimeUnit.SECONDS), "the CLI hangs");
            return new Ended(process.exitValue(), Files.readString(out).strip(),
                    Files.readString(err).strip());
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    @Test
    void theCliCallsDescribesAndQuiesces() throws Exception {
        Programs.named("STADIUM_BIN");
        try (RpcServer server = RpcServer.builder().listen("127.0.0.1", 0)
                .service(TestService.greeter()).operators(Operators.bearer("secret"))
                .inlineWaitMax(Duration.ofSeconds(30)).start()) {
            Ended hello = cli(server, "call", "greeter/Hello", "\"Ada\"");
            assertEquals("\"Hello Ada\"", hello.out(), hello.toString());
            assertEquals(0, hello.code());
            Ended count = cli(server, "call", "greeter/Count", "3");
            assertEquals("1\n2\n3", count.out(), count.toString());
            Ended rejected = cli(server, "call", "greeter/Hello", "\"\"");
            assertEquals(65, rejected.code(), rejected.toString());
            assertTrue((rejected.out() + rejected.err()).contains("GREETER-001"),
                    rejected.toString());
            assertEquals(75, cli(server, "call", "greeter/Hello", "\"crowd\"").code());
            Ended described = cli(server, "describe", "greeter");
            assertTrue(described.out().contains("greeter/Count")
                    && described.out().contains("google.protobuf.Int32Value"),
                    described.toString());
            Ended healthy = cli(server, "health", "greeter");
            assertEquals(0, healthy.code(), healthy.toString());
            assertTrue(healthy.out().toLowerCase().contains("serving"), healthy.toString());
            Ended statistics = cli(server, "statistics", "greeter");
            assertTrue(statistics.out().contains("greeter/Hello"), statistics.toString());

            String address = "127.0.0.1:" + server.address().getPort();
            Path token = Files.writeString(folder.resolve("token"), "secret");
            Path wrong = Files.writeString(folder.resolve("wrong"), "guess");
            Ended refused = cli(server, "quiesce", "greeter", address, "--bearer-file",
                    wrong.toString());
            assertEquals(65, refused.code(), refused.toString());
            Ended quiesced = cli(server, "quiesce", "greeter", address, "--bearer-file",
                    token.toString());
            assertEquals(0, quiesced.code(), quiesced.toString());
            server.ended().get(Caller.SOON_S, TimeUnit.SECONDS);
        }
    }

    /** Starts the script callers.py with the Python SDK as it is in the repository. */
    private Process python(String what, int port) throws Exception {
        Path module = Path.of(Programs.named("STADIUM_PYTHON_MODULE"));
        Path sources = Path.of(System.getProperty("stadium.sdk", "../..")).resolve(
                "python/stadium").toRealPath();
        Path stadium = folder.resolve("stadium");
        if (Files.notExists(stadium)) {
            Files.createDirectory(stadium);
            try (Stream<Path> files = Files.list(sources)) {
                for (Path file : files.filter(one -> !one.endsWith("__pycache__")).toList()) {
                    Files.createSymbolicLink(stadium.resolve(file.getFileName()), file);
                }
            }
            Files.createSymbolicLink(stadium.resolve("_stadium.abi3.so"), module.toRealPath());
            try (InputStream script = getClass().getResourceAsStream("/callers.py")) {
                Files.copy(script, folder.resolve("callers.py"));
            }
        }
        ProcessBuilder builder = new ProcessBuilder(
                Programs.named("STADIUM_PYTHON"), "-u", folder.resolve("callers.py").toString(), what,
                "127.0.0.1:" + port).redirectError(ProcessBuilder.Redirect.INHERIT);
        builder.environment().put("PYTHONPATH", folder.toString());
        return builder.start();
    }

    private JsonNode answers(String what, int port) throws Exception {
        Process python = python(what, port);
        try (BufferedReader out = python.inputReader()) {
            String line = out.readLine();
            assertNotNull(line, "the script has failed");
            return new ObjectMapper().readTree(line);
        } finally {
            python.destroyForcibly().waitFor();
        }
    }

    @Test
    void thePythonSdkUsesAllInteractions() throws Exception {
        Programs.named("STADIUM_PYTHON_MODULE");
        try (RpcServer server = RpcServer.builder().listen("127.0.0.1", 0)
                .service(TestService.bytes()).inlineWaitMax(Duration.ofSeconds(30)).start()) {
            int port = server.address().getPort();
            assertEquals("{\"unary\":\"hello\",\"large\":1048576,\"told\":\"told\","
                    + "\"counted\":true,\"talked\":[\"A\",\"B\"],\"busy\":\"Busy\","
                    + "\"rejected\":\"Rejected\",\"unknown\":\"Unknown\","
                    + "\"deadline\":\"DeadlineExceeded\",\"route\":\"Rejected\","
                    + "\"wrong\":\"Rejected\"}", answers("interactions", port).toString());
            assertEquals("{\"cancelled\":true}", answers("cancels", port).toString());
        }
    }

    @Test
    void noAcceptedCallIsLostOnSigterm() throws Exception {
        Programs.named("STADIUM_PYTHON_MODULE");
        String path = System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path"));
        Process server = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m",
                "-XX:TieredStopAtLevel=1", "-cp", path, TestService.class.getName())
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Process python = null;
        try (BufferedReader served = server.inputReader()) {
            python = python("load", Integer.parseInt(served.readLine()));
            try (BufferedReader out = python.inputReader()) {
                assertEquals("going", out.readLine());
                // SIGTERM.
                server.destroy();
                String line = out.readLine();
                assertNotNull(line, "the script has failed");
                JsonNode ends = new ObjectMapper().readTree(line);
                assertTrue(ends.path("ok").asInt() >= 100, line);
                for (String lost : List.of("ConnectionBroken", "Unknown", "DeadlineExceeded")) {
                    assertTrue(ends.path(lost).isMissingNode(), line);
                }
            }
            assertTrue(server.waitFor(Caller.SOON_S, TimeUnit.SECONDS), "the server goes on");
            // 128 and the number of the signal: how the JVM ends when it is asked to.
            assertEquals(143, server.exitValue());
        } finally {
            server.destroyForcibly().waitFor();
            if (python != null) {
                python.destroyForcibly().waitFor();
            }
        }
    }
}
