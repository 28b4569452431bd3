package io.stadium.memcache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Blocking calls of virtual threads, by a JDK that has them: that of STADIUM_JDK25, or one in
 * {@code /usr/lib/jvm}. A JDK that is there must work; without one the test is skipped, and reports
 * it.
 */
@Timeout(60)
class VirtualThreadsTest {
    private static final int VIRTUAL_THREADS_SINCE = 21;

    @Test
    void aThousandVirtualThreadsShareAConnection() throws Exception {
        Path home = home();
        Path program = Path.of("src/test/resources/VirtualThreads.java").toAbsolutePath();
        try (Memcached server = Memcached.tcp()) {
            Process process = new ProcessBuilder(home.resolve("bin/java").toString(), "-Xmx192m",
                    "-cp", Path.of("target/classes").toAbsolutePath().toString(),
                    program.toString(), server.address)
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            try (BufferedReader out = process.inputReader()) {
                assertEquals("read 10000", out.readLine());
                assertTrue(process.waitFor(Soon.SECONDS, TimeUnit.SECONDS), "it goes on");
                assertEquals(0, process.exitValue());
            } finally {
                process.destroyForcibly().waitFor();
            }
        }
    }

    private static Path home() throws IOException {
        String named = System.getenv("STADIUM_JDK25");
        if (named != null) {
            assertTrue(feature(Path.of(named)) >= VIRTUAL_THREADS_SINCE,
                    "STADIUM_JDK25 names no JDK with virtual threads: " + named);
            return Path.of(named);
        }
        Path folder = Path.of("/usr/lib/jvm");
        if (Files.isDirectory(folder)) {
            try (Stream<Path> homes = Files.list(folder)) {
                Path newest = homes.max(Comparator.comparingInt(VirtualThreadsTest::feature))
                        .orElse(folder);
                if (feature(newest) >= VIRTUAL_THREADS_SINCE) {
                    return newest;
                }
            }
        }
        String text = "virtual threads are NOT tested: no JDK of 21 or later in STADIUM_JDK25 or "
                + folder;
        System.err.println(text);
        return abort(text);
    }

    /** The feature release of a JDK, such as 25; 0 where there is none. */
    private static int feature(Path home) {
        Path release = home.resolve("release");
        if (!Files.isRegularFile(release) || !Files.isRegularFile(home.resolve("bin/javac"))) {
            return 0;
        }
        Properties properties = new Properties();
        try (BufferedReader reader = Files.newBufferedReader(release)) {
            properties.load(reader);
        } catch (IOException error) {
            return 0;
        }
        String version = properties.getProperty("JAVA_VERSION", "0").replace("\"", "");
        return Integer.parseInt(version.split("[.+-]")[0]);
    }
}
