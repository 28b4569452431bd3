package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Blocking calls and a worker on virtual threads, by a JDK that has them: that of STADIUM_JDK25, or
 * one in a known folder. A JDK that is there must work; without one the test is skipped, and says
 * so.
 */
@Timeout(120)
class VirtualThreadsTest {
    private static final int VIRTUAL_THREADS_SINCE = 21;

    private static final List<String> FOLDERS = List.of("/usr/lib/jvm", "/opt", "/opt/java",
            System.getProperty("user.home") + "/.sdkman/candidates/java",
            System.getProperty("user.home") + "/.jdks");

    @Test
    void aThousandBlockingCallsAndAWorkerOnVirtualThreads() throws Exception {
        Path home = home();
        TestServer server = TestServer.shared();
        Path program = Path.of("src/test/resources/VirtualThreads.java").toAbsolutePath();
        // Netty has a native library.
        Process process = Soon.java(home, "", "--enable-native-access=ALL-UNNAMED",
                program.toString(), server.address(), server.adminKey().toString());
        try (BufferedReader out = process.inputReader()) {
            assertEquals("put 1000, settled 1000, on other threads 0", out.readLine());
            assertTrue(process.waitFor(Soon.SECONDS, TimeUnit.SECONDS), "it goes on");
            assertEquals(0, process.exitValue());
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    private static Path home() throws IOException {
        String named = System.getenv("STADIUM_JDK25");
        if (named != null) {
            Path home = Path.of(named);
            assertTrue(feature(home) >= VIRTUAL_THREADS_SINCE,
                    "STADIUM_JDK25 names no JDK with virtual threads: " + home);
            return home;
        }
        Path newest = null;
        for (String folder : FOLDERS) {
            if (!Files.isDirectory(Path.of(folder))) {
                continue;
            }
            try (Stream<Path> homes = Files.list(Path.of(folder))) {
                for (Path home : homes.toList()) {
                    int feature = feature(home);
                    if (feature >= VIRTUAL_THREADS_SINCE
                            && (newest == null || feature > feature(newest))) {
                        newest = home;
                    }
                }
            }
        }
        if (newest == null) {
            String text = "virtual threads are NOT tested: no JDK of 21 or later in "
                    + "STADIUM_JDK25 or " + FOLDERS;
            System.err.println(text);
            abort(text);
        }
        return newest;
    }

    /** The feature release of a JDK, such as 25; 0 where there is none. */
    private static int feature(Path home) throws IOException {
        Path release = home.resolve("release");
        if (!Files.isRegularFile(release) || !Files.isRegularFile(home.resolve("bin/javac"))) {
            return 0;
        }
        Properties properties = new Properties();
        try (BufferedReader reader = Files.newBufferedReader(release)) {
            properties.load(reader);
        }
        String version = properties.getProperty("JAVA_VERSION", "0").replace("\"", "");
        return Integer.parseInt(version.split("[.+-]")[0]);
    }
}
