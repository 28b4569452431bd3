package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.rpc.Rejected;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.function.Executable;

/** Conditions with a deadline, refusals, and Java programs. */
final class Soon {
    static final long SECONDS = 30;

    private Soon() {}

    /** A condition that may fail with anything. */
    interface Condition {
        boolean holds() throws Exception;
    }

    static void until(String what, Condition condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        while (!condition.holds()) {
            assertTrue(System.nanoTime() < end, "not in time: " + what);
            Thread.sleep(5);
        }
    }

    /** The code of a refusal. */
    static String code(Executable refused) {
        return assertThrows(Rejected.class, refused).code();
    }

    /** Runs a Java program with the classes of the tests. */
    static Process java(Path home, String folder, String... arguments) throws IOException {
        String path = classPath();
        List<String> command = new ArrayList<>(List.of(
                home.resolve("bin/java").toString(), "-Xmx192m", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-cp", folder + File.pathSeparator + path));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        return process;
    }

    static String classPath() {
        return System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path"));
    }

    static Path javaHome() {
        return Path.of(System.getProperty("java.home"));
    }
}
