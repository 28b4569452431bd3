package io.stadium.api;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads the JSON of receipts: objects, lists, texts without escapes, and whole numbers of 64 bits.
 * It refuses everything else.
 *
 * <p>Values are {@code Map<String, Object>}, {@code List<Object>}, {@code String} and {@code Long},
 * whose bits are those of an unsigned number.
 */
final class JsonReader {
    /** Values within values. */
    private static final int DEPTH_MAX = 16;

    private final String text;
    private int at;

    private JsonReader(String text) {
        this.text = text;
    }

    static Object read(String text) {
        JsonReader reader = new JsonReader(text);
        Object value = reader.value(0);
        reader.skipWhite();
        if (reader.at < text.length()) {
            throw new InvalidReceipt("something follows the end of the JSON");
        }
        return value;
    }

    private Object value(int depth) {
        if (depth > DEPTH_MAX) {
            throw new InvalidReceipt("the JSON is nested too deeply");
        }
        skipWhite();
        return switch (peek()) {
            case '{' -> object(depth);
            case '[' -> list(depth);
            case '"' -> string();
            default -> number();
        };
    }

    private Map<String, Object> object(int depth) {
        Map<String, Object> members = new LinkedHashMap<>();
        take('{');
        if (isTaken('}')) {
            return members;
        }
        do {
            skipWhite();
            String name = string();
            take(':');
            if (members.putIfAbsent(name, value(depth + 1)) != null) {
                throw new InvalidReceipt("the field " + name + " is there twice");
            }
        } while (isTaken(','));
        take('}');
        return members;
    }

    private List<Object> list(int depth) {
        List<Object> items = new ArrayList<>();
        take('[');
        if (isTaken(']')) {
            return items;
        }
        do {
            items.add(value(depth + 1));
        } while (isTaken(','));
        take(']');
        return items;
    }

    private String string() {
        take('"');
        int begin = at;
        while (at < text.length() && text.charAt(at) != '"') {
            if (text.charAt(at) == '\\') {
                throw new InvalidReceipt("a text has an escape");
            }
            at++;
        }
        if (at == text.length()) {
            throw new InvalidReceipt("a text has no end");
        }
        return text.substring(begin, at++);
    }

    private Long number() {
        int begin = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        boolean goesOn = at < text.length() && ".eE+-".indexOf(text.charAt(at)) >= 0;
        boolean isPadded = at > begin + 1 && text.charAt(begin) == '0';
        if (at == begin || goesOn || isPadded) {
            throw new InvalidReceipt("a value is no object, list, text or whole number");
        }
        try {
            return Long.parseUnsignedLong(text.substring(begin, at));
        } catch (NumberFormatException e) {
            throw new InvalidReceipt("a number is too large");
        }
    }

    private char peek() {
        if (at == text.length()) {
            throw new InvalidReceipt("the JSON ends too early");
        }
        return text.charAt(at);
    }

    private boolean isTaken(char character) {
        skipWhite();
        if (at == text.length() || text.charAt(at) != character) {
            return false;
        }
        at++;
        return true;
    }

    private void take(char character) {
        if (!isTaken(character)) {
            throw new InvalidReceipt("the JSON has no " + character + " where one is needed");
        }
    }

    private void skipWhite() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }
}
