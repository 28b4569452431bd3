package io.stadium.rpc.vectors;

import com.fasterxml.jackson.databind.JsonNode;
import io.stadium.rpc.discovery.Instance;
import io.stadium.rpc.discovery.InstanceValue;
import io.stadium.rpc.discovery.InstanceValue.State;
import io.stadium.rpc.discovery.Instances;
import io.stadium.rpc.discovery.Place;
import io.stadium.rpc.discovery.Roster;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Entries are read, and instances forgotten, as the script of proto/vectors says. */
class DiscoveryVectorsTest {
    @Test
    void instancesAreForgottenAsTheScriptSays() {
        Script.check("discovery.json", Set.of(), RosterPlayer::new);
    }

    private static final class RosterPlayer implements Script.Player {
        private final Roster roster;

        RosterPlayer(JsonNode config) {
            roster = new Roster(config.path("session_ttl_us").asLong(), "not connected yet");
        }

        @Override
        public Object play(JsonNode step) {
            long nowUs = step.path("at_us").asLong();
            switch (step.path("do").asText()) {
                case "read_value":
                    String json = step.path("json").asText()
                            + " ".repeat(step.path("spaces").asInt());
                    Optional<InstanceValue> value =
                            InstanceValue.read(json.getBytes(StandardCharsets.UTF_8));
                    return Script.fields("value", value.map(RosterPlayer::fields).orElse(null));
                case "write_value":
                    return new String(value(step.path("value")).write(), StandardCharsets.UTF_8);
                case "read_place":
                    Optional<Place> place = Place.read(step.path("path").asText());
                    return place.isEmpty() ? Script.fields("version", null)
                            : Script.fields("version", place.get().version(), "address",
                                    place.get().address());
                case "listed":
                    Map<Place, InstanceValue> found = new LinkedHashMap<>();
                    step.path("instances").forEach(one -> found.put(place(one), value(one)));
                    Roster.After after = Roster.After.valueOf(
                            step.path("after").asText().toUpperCase(Locale.ROOT));
                    return text(roster.listed(found, after, nowUs));
                case "announced":
                    return text(roster.announced(place(step.path("instance")),
                            value(step.path("instance"))));
                case "removed":
                    return text(roster.removed(place(step.path("instance")), nowUs));
                case "lost":
                    return text(roster.lost("away"));
                case "expire":
                    return text(roster.expire(nowUs));
                case "snapshot":
                    return snapshot(roster.snapshot(Script.text(step, "version", null)));
                case "next_expiry":
                    long atUs = roster.nextExpiryUs();
                    return Script.fields("in_us", atUs == Roster.NEVER ? null : atUs - nowUs);
                default:
                    throw new IllegalArgumentException(step.toString());
            }
        }

        private static String text(Roster.Change change) {
            return change.name().toLowerCase(Locale.ROOT);
        }

        private static Place place(JsonNode node) {
            return Place.read(node.isTextual() ? node.asText() : node.path("place").asText())
                    .orElseThrow();
        }

        private static InstanceValue value(JsonNode node) {
            return new InstanceValue(
                    (float) node.path("load").asDouble(0), Script.text(node, "zone", ""),
                    Script.number(node, "weight", 100),
                    State.valueOf(Script.text(node, "state", "serving").toUpperCase(Locale.ROOT)));
        }

        private static Map<String, Object> fields(InstanceValue value) {
            return Script.fields("load", value.load(), "zone",
                    value.zone().isEmpty() ? null : value.zone(), "weight", value.weight(),
                    "state", value.state().toString());
        }

        private static Object snapshot(Instances list) {
            List<String> instances = new ArrayList<>();
            for (Instance one : list.instances()) {
                instances.add(one.version() + "/" + one.address());
            }
            return Script.fields("heard", list.isKnown(), "instances", instances, "is",
                    list.isLive() ? "live" : "stale");
        }
    }
}
