package io.stadium.api;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The members of an object of a receipt, each of which is read once and must be known. */
final class ReceiptFields {
    /** Steps of a path: more is no receipt of Stadium's. */
    private static final int HASHES_MAX = 10_000;

    private final Map<?, ?> members;
    private final Set<String> read = new HashSet<>();

    ReceiptFields(Object value) {
        if (!(value instanceof Map<?, ?> object)) {
            throw new InvalidReceipt("it is no receipt: an object is missing");
        }
        members = object;
    }

    /** An unsigned number. */
    long number(String name) {
        return as(Long.class, name, field(name));
    }

    String text(String name) {
        return as(String.class, name, field(name));
    }

    List<?> list(String name) {
        return as(List.class, name, field(name));
    }

    byte[] hash(String name) {
        return hashOf(text(name));
    }

    List<byte[]> hashes(String name) {
        List<?> list = list(name);
        if (list.size() > HASHES_MAX) {
            throw new InvalidReceipt(name + " is longer than in any receipt");
        }
        List<byte[]> hashes = new ArrayList<>();
        for (Object item : list) {
            hashes.add(hashOf(as(String.class, name, item)));
        }
        return hashes;
    }

    byte[] bytes(String name) {
        return bytesOf(text(name));
    }

    /** Checks that all members were read. */
    void end() {
        if (read.size() != members.size()) {
            throw new InvalidReceipt("the receipt has a field that is not known");
        }
    }

    private Object field(String name) {
        Object value = members.get(name);
        if (value == null) {
            throw new InvalidReceipt("the receipt has no field " + name);
        }
        read.add(name);
        return value;
    }

    private static <T> T as(Class<T> type, String name, Object value) {
        if (!type.isInstance(value)) {
            throw new InvalidReceipt(name + " is of another type");
        }
        return type.cast(value);
    }

    private static byte[] hashOf(String hex) {
        byte[] bytes = bytesOf(hex);
        if (bytes.length != 32) {
            throw new InvalidReceipt("a hash has not 64 hexadecimal digits");
        }
        return bytes;
    }

    private static byte[] bytesOf(String hex) {
        try {
            return HexFormat.of().parseHex(hex);
        } catch (IllegalArgumentException e) {
            throw new InvalidReceipt("a text has no pairs of hexadecimal digits");
        }
    }
}
