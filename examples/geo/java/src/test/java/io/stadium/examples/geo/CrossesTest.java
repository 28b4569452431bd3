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
    @Timeout(180)
    void theProgramsOfJavaAndRustWorkWithEachOther() throws Exception {
        String rust = System.getenv("STADIUM_GEO");
        assertNotNull(rust, "STADIUM_GEO must name a program");
        script("geo-service", GeoService.class);
        script("geo-client", GeoClient.class);
        String python = System.getenv().getOrDefault("STADIUM_PYTHON", "python3");
        Process crosses = new ProcessBuilder(python, System.getProperty("geo.crosses"),
                folder.toString(), Path.of(rust).getParent().toString())
                .redirectErrorStream(true).start();
        try {
            String printed =
                    new String(crosses.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertEquals(0, crosses.waitFor(), printed);
            assertEquals(4, printed.split("all held", -1).length - 1, printed);
        } finally {
            crosses.destroyForcibly().waitFor();
        }
    }

    /** A program as the others are started, without the second compiler: it ends soon. */
    private void script(String name, Class<?> program) throws Exception {
        String path = System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path"));
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        Path script = Files.writeString(folder.resolve(name), "#!/bin/sh\nexec '" + java
                + "' -Xmx128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp '" + path + "' "
                + program.getName() + " \"$@\"\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    }
}
