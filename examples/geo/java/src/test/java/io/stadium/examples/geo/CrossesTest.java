package io.stadium.examples.geo;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The programs, crossed with those of Rust: each client with each service.
 *
 * <p>STADIUM_GEO names the Rust service; its client and {@code stadium} are beside it.
 */
class CrossesTest {
    @TempDir Path folder;

    @Test
    @Timeout(300)
    void theProgramsOfJavaAndRustWorkWithEachOther() throws Exception {
        String rust = System.getenv("STADIUM_GEO");
        assertNotNull(rust, "STADIUM_GEO must name a program");
        String python = System.getenv().getOrDefault("STADIUM_PYTHON", "python3");
        // The client is started some thirty times: with its classes in an archive it starts sooner.
        String archive = folder.resolve("classes.jsa").toString();
        Path making = script("geo-client", GeoClient.class, "-XX:ArchiveClassesAtExit=" + archive);
        run(1, making.toString(), "--last", "nobody", "--address", "127.0.0.1:1");
        script("geo-client", GeoClient.class, "-XX:SharedArchiveFile=" + archive);
        script("geo-service", GeoService.class, "-XX:SharedArchiveFile=" + archive);
        String printed = run(0, python, System.getProperty("geo.crosses"),
                folder.toString(), Path.of(rust).getParent().toString());
        assertEquals(4, printed.split("all held", -1).length - 1, printed);
    }

    /** Runs a program that ends with this exit code, and returns what it prints. */
    private static String run(int code, String... command) throws Exception {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            String printed =
                    new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertEquals(code, process.waitFor(), printed);
            return printed;
        } finally {
            process.destroyForcibly().waitFor();
        }
    }

    /** A program as the others are started, without the second compiler: it ends soon. */
    private Path script(String name, Class<?> program, String flag) throws Exception {
        String jars = System.getProperty("geo.jars");
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        String flags = "-Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 '" + flag + "'";
        Path script = Files.writeString(folder.resolve(name), "#!/bin/sh\nexec '" + java + "' "
                + flags + " -cp '" + jars + "/*:" + jars + "/lib/*' " + program.getName()
                + " \"$@\"\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
        return script;
    }
}
