package io.stadium.rpc;

import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The scripts of proto/vectors, which every SDK plays. */
public final class Scripts {
    /** The JSON of expectations. */
    public static final ObjectMapper JSON = new ObjectMapper();

    private Scripts() {}

    /** A case with the defaults of its file below its own settings. */
    public record Case(String name, JsonNode config, List<JsonNode> steps) {
        @Override
        public String toString() {
            return name;
        }
    }

    /** A file of proto/vectors. */
    public static JsonNode read(String file) {
        Path folder = Path.of(System.getProperty("stadium.vectors", "../../../proto/vectors"));
        try {
            return JSON.readTree(folder.resolve(file).toFile());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The settings of a case, over the defaults of its script. */
    public static JsonNode config(JsonNode script, JsonNode one) {
        ObjectNode config = script.path("defaults").deepCopy();
        one.path("config").fields().forEachRemaining(
                field -> config.set(field.getKey(), field.getValue()));
        return config;
    }

    /** The cases of a file. */
    public static List<Case> cases(String file) {
        JsonNode script = read(file);
        List<Case> cases = new ArrayList<>();
        for (JsonNode one : script.path("cases")) {
            List<JsonNode> steps = new ArrayList<>();
            one.path("steps").forEach(steps::add);
            assertFalse(steps.isEmpty(), one.path("name").asText());
            cases.add(new Case(one.path("name").asText(), config(script, one), steps));
        }
        assertFalse(cases.isEmpty(), file);
        return cases;
    }
}
