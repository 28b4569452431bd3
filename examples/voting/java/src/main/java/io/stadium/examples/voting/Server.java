package io.stadium.examples.voting;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.stadium.api.ApiKey;
import io.stadium.api.Stadium;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;

/** The server that a data directory belongs to. */
record Server(Path data) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** A connection with the key of an admin, to the address that the server has announced. */
    Stadium connect() throws IOException {
        JsonNode running = JSON.readTree(data.resolve("running.json").toFile());
        for (JsonNode listener : running.path("listeners")) {
            if (listener.path("name").asText().equals("rpc")) {
                return Stadium.builder()
                        .addresses(listener.path("address").asText())
                        .key(ApiKey.file(data.resolve("admin.key")))
                        .deadline(Duration.ofSeconds(30))
                        .start();
            }
        }
        throw new IOException("the server does not serve RPC: see its setting rpc.listen");
    }

    /** The receipt of a transfer, JSON, by the server's audit; nothing before a seal covers it. */
    Optional<String> receipt(UUID transfer) throws IOException, InterruptedException {
        String stadium = System.getenv().getOrDefault("STADIUM_BIN", "stadium");
        Process audit = new ProcessBuilder(
                stadium, "wallet", "receipt", data.toString(), transfer.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String text = new String(audit.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return audit.waitFor() == 0 ? Optional.of(text) : Optional.empty();
    }

    static JsonNode json(String text) throws IOException {
        return JSON.readTree(text);
    }
}
