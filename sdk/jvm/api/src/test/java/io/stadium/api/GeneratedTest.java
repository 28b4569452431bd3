package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.stadium.rpc.Programs;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Sources that are made of others are not stale. With STADIUM_WRITE_GENERATED=1 they are written
 * anew.
 */
class GeneratedTest {
    private static final Path SOURCES =
            Path.of(System.getProperty("stadium.sources"), "io/stadium");

    @Test
    void blockingFormsAreThoseOfTheFutures() throws IOException {
        for (String name : BlockingForms.NAMES) {
            String source = Files.readString(SOURCES.resolve("api/Async" + name + ".java"));
            isCurrent(SOURCES.resolve("api/" + name + ".java"), BlockingForms.of(name, source));
        }
    }

    @Test
    void methodsAreThoseOfTheContracts(@TempDir Path folder) throws Exception {
        String plugin = Programs.named("STADIUM_PROTOC_GEN");
        Path contracts = Path.of(System.getProperty("stadium.contracts"));
        List<String> command = new ArrayList<>(List.of("protoc", "--plugin=" + plugin,
                "--stadium_out=java:" + folder, "-I" + contracts));
        for (String name : List.of("push", "queue", "stadium", "wallet")) {
            command.add("stadium/v1/" + name + ".proto");
        }
        Process protoc = new ProcessBuilder(command).redirectErrorStream(true).start();
        String text = new String(protoc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, protoc.waitFor(), text);
        for (String service : List.of("Push", "Queue", "Stadium", "Wallet")) {
            String name = "v1/" + service + "Methods.java";
            isCurrent(SOURCES.resolve(name),
                    Files.readString(folder.resolve("io/stadium").resolve(name)));
        }
    }

    private static void isCurrent(Path file, String wanted) throws IOException {
        if ("1".equals(System.getenv("STADIUM_WRITE_GENERATED"))) {
            Files.writeString(file, wanted);
        }
        assertEquals(wanted, Files.exists(file) ? Files.readString(file) : "",
                file + " is stale: run this test with STADIUM_WRITE_GENERATED=1");
    }
}
