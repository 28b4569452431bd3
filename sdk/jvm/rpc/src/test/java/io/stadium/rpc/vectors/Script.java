package io.stadium.rpc.vectors;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.stadium.rpc.Scripts;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;

/** Plays the scripts of proto/vectors, and compares every answer. */
final class Script {
    private Script() {}

    /** Plays the steps of one case. */
    interface Player {
        /** The answer of a step; what has none is not compared. */
        Object play(JsonNode step);
    }

    /** Nothing to compare, though the step expects something: it is of the server's half. */
    static final Object SKIPPED = new Object();

    /** Every answer is the expected one, and one that is altered is found in each case. */
    static void check(String file, Set<String> skipped, Function<JsonNode, Player> begin) {
        int cases = 0;
        JsonNode script = Scripts.read(file);
        for (JsonNode one : script.path("cases")) {
            JsonNode config = Scripts.config(script, one);
            List<String> differences = play(one.path("steps"), begin.apply(config), skipped, -1);
            assertTrue(differences.isEmpty(), file + ", " + one.path("name") + ": " + differences);
            cases++;
            for (int nth = 0; nth < one.path("steps").size(); nth++) {
                JsonNode step = one.path("steps").get(nth);
                if (step.has("expect") && !skipped.contains(step.path("do").asText())) {
                    List<String> found = play(one.path("steps"), begin.apply(config), skipped, nth);
                    assertFalse(found.isEmpty(), file + ", " + one.path("name")
                            + ": an altered expectation of step " + nth + " was not found");
                    break;
                }
            }
        }
        assertTrue(cases > 0, file + " has no cases");
    }

    private static List<String> play(
            JsonNode steps, Player player, Set<String> skipped, int altered) {
        List<String> differences = new ArrayList<>();
        for (int nth = 0; nth < steps.size(); nth++) {
            JsonNode step = steps.get(nth);
            if (skipped.contains(step.path("do").asText())) {
                continue;
            }
            Object answer = player.play(step);
            if (!step.has("expect") || answer == SKIPPED) {
                continue;
            }
            JsonNode actual = Scripts.JSON.valueToTree(answer);
            JsonNode expected = step.get("expect");
            if (nth == altered) {
                expected = alter(expected);
            }
            if (!equal(expected, actual)) {
                differences.add("step " + nth + " " + step + ": " + actual);
            }
        }
        return differences;
    }

    /** Another expectation. */
    private static JsonNode alter(JsonNode node) {
        JsonNodeFactory factory = JsonNodeFactory.instance;
        if (node.isNumber()) {
            return factory.numberNode(node.asDouble() + 1);
        }
        if (node.isTextual()) {
            return factory.textNode(node.asText() + "x");
        }
        if (node.isBoolean()) {
            return factory.booleanNode(!node.asBoolean());
        }
        if (node.isArray()) {
            ArrayNode copy = node.deepCopy();
            if (copy.isEmpty()) {
                copy.add("x");
            } else {
                copy.set(copy.size() - 1, alter(copy.get(copy.size() - 1)));
            }
            return copy;
        }
        if (node.isObject()) {
            ObjectNode copy = node.deepCopy();
            String first = copy.fieldNames().next();
            copy.set(first, alter(copy.get(first)));
            return copy;
        }
        return factory.numberNode(1);
    }

    /** Whether two values are the same, whatever the types of their numbers. */
    private static boolean equal(JsonNode a, JsonNode b) {
        if (a.isNumber() && b.isNumber()) {
            return a.decimalValue().compareTo(b.decimalValue()) == 0;
        }
        if (a.isArray() && b.isArray() && a.size() == b.size()) {
            for (int nth = 0; nth < a.size(); nth++) {
                if (!equal(a.get(nth), b.get(nth))) {
                    return false;
                }
            }
            return true;
        }
        if (a.isObject() && b.isObject()) {
            Set<String> names = new HashSet<>();
            a.fieldNames().forEachRemaining(names::add);
            b.fieldNames().forEachRemaining(names::add);
            Iterator<String> each = names.iterator();
            while (each.hasNext()) {
                String name = each.next();
                if (!a.has(name) || !b.has(name) || !equal(a.get(name), b.get(name))) {
                    return false;
                }
            }
            return true;
        }
        return a.equals(b);
    }

    /** A field, or the value that stands for its absence. */
    static String text(JsonNode step, String name, String otherwise) {
        return step.has(name) ? step.get(name).asText() : otherwise;
    }

    static long number(JsonNode step, String name, long otherwise) {
        return step.has(name) ? step.get(name).asLong() : otherwise;
    }

    /** Fields in pairs of name and value. */
    static Map<String, Object> fields(Object... pairs) {
        Map<String, Object> fields = new java.util.LinkedHashMap<>();
        for (int nth = 0; nth < pairs.length; nth += 2) {
            fields.put((String) pairs[nth], pairs[nth + 1]);
        }
        return fields;
    }

    static byte[] bytes(String hex) {
        return java.util.HexFormat.of().parseHex(hex);
    }
}
