package io.stadium.rpc.discovery;

import io.stadium.rpc.discovery.InstanceValue.State;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * Reads the JSON object of an {@link InstanceValue} (RFC 8259). Anything that is malformed ends in
 * an {@link IllegalArgumentException}.
 */
final class ValueReader {
    /** Nested values of unknown fields: enough for any, and far from the end of the stack. */
    private static final int DEPTH_MAX = 64;

    private static final Pattern NUMBER =
            Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
    private static final Pattern WHOLE = Pattern.compile("0|[1-9][0-9]{0,9}");

    private final String json;
    private int at;

    ValueReader(byte[] json) {
        try {
            this.json = StandardCharsets.UTF_8.newDecoder()
                    .decode(ByteBuffer.wrap(json)).toString();
        } catch (CharacterCodingException e) {
            throw new IllegalArgumentException("not UTF-8", e);
        }
    }

    InstanceValue read() {
        float load = InstanceValue.DEFAULT.load();
        String zone = InstanceValue.DEFAULT.zone();
        long weight = InstanceValue.DEFAULT.weight();
        State state = InstanceValue.DEFAULT.state();
        Set<String> seen = new HashSet<>();
        space();
        expect('{');
        space();
        boolean isEmpty = peek() == '}';
        while (!isEmpty) {
            space();
            String name = string();
            space();
            expect(':');
            space();
            switch (name) {
                case "load" -> load = Float.parseFloat(number());
                case "weight" -> weight = whole(number());
                case "zone" -> zone = peek() == '"' ? string() : literal("null", "");
                case "state" -> state = state(string());
                default -> skip(0);
            }
            boolean isOurs = Set.of("load", "weight", "zone", "state").contains(name);
            if (isOurs && !seen.add(name)) {
                throw new IllegalArgumentException("a field occurs twice");
            }
            space();
            if (peek() != ',') {
                break;
            }
            at++;
        }
        expect('}');
        space();
        if (at < json.length()) {
            throw new IllegalArgumentException("something follows the object");
        }
        return new InstanceValue(load, zone, weight, state);
    }

    private static State state(String text) {
        for (State state : State.values()) {
            if (state.toString().equals(text)) {
                return state;
            }
        }
        throw new IllegalArgumentException("no such state");
    }

    private static long whole(String number) {
        if (!WHOLE.matcher(number).matches()) {
            throw new IllegalArgumentException("a weight is a whole number");
        }
        return Long.parseLong(number);
    }

    private char peek() {
        return at < json.length() ? json.charAt(at) : 0;
    }

    private void expect(char wanted) {
        if (peek() != wanted) {
            throw new IllegalArgumentException("expected " + wanted + " at " + at);
        }
        at++;
    }

    private void space() {
        while (at < json.length() && " \t\r\n".indexOf(json.charAt(at)) >= 0) {
            at++;
        }
    }

    private String number() {
        int start = at;
        while (at < json.length() && "+-.0123456789eE".indexOf(json.charAt(at)) >= 0) {
            at++;
        }
        String text = json.substring(start, at);
        if (!NUMBER.matcher(text).matches()) {
            throw new IllegalArgumentException("no number at " + start);
        }
        return text;
    }

    private String literal(String wanted, String meaning) {
        if (!json.startsWith(wanted, at)) {
            throw new IllegalArgumentException("expected " + wanted + " at " + at);
        }
        at += wanted.length();
        return meaning;
    }

    private String string() {
        expect('"');
        StringBuilder text = new StringBuilder();
        while (peek() != '"') {
            char one = peek();
            if (one < ' ') {
                throw new IllegalArgumentException("a string does not end");
            }
            at++;
            text.append(one == '\\' ? escaped() : one);
        }
        at++;
        return text.toString();
    }

    private char escaped() {
        char kind = peek();
        at++;
        return switch (kind) {
            case '"', '\\', '/' -> kind;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> {
                if (at + 4 > json.length()) {
                    throw new IllegalArgumentException("an escape does not end");
                }
                at += 4;
                yield (char) Integer.parseInt(json, at - 4, at, 16);
            }
            default -> throw new IllegalArgumentException("no such escape");
        };
    }

    /** Passes over the value of an unknown field. */
    private void skip(int depth) {
        if (depth > DEPTH_MAX) {
            throw new IllegalArgumentException("nested too deeply");
        }
        switch (peek()) {
            case '"' -> string();
            case '{' -> skipList('}', depth);
            case '[' -> skipList(']', depth);
            case 't' -> literal("true", "");
            case 'f' -> literal("false", "");
            case 'n' -> literal("null", "");
            default -> number();
        }
    }

    private void skipList(char end, int depth) {
        at++;
        space();
        if (peek() == end) {
            at++;
            return;
        }
        while (true) {
            space();
            if (end == '}') {
                string();
                space();
                expect(':');
                space();
            }
            skip(depth + 1);
            space();
            if (peek() != ',') {
                expect(end);
                return;
            }
            at++;
        }
    }
}
