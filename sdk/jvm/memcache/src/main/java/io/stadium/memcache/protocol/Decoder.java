package io.stadium.memcache.protocol;

import io.stadium.memcache.ProtocolError;
import io.stadium.memcache.ProtocolError.Violation;
import java.nio.charset.StandardCharsets;

/**
 * Reads one answer from the beginning of what was received, into its own fields.
 *
 * <p>An answer that is not whole yet takes no bytes: the caller reads more and asks again. Nothing
 * is allocated, and no length of the server's is believed beyond the caller's limits.
 */
final class Decoder {
    /** Bytes of a line at most, with its end: a key, five numbers and an opaque token fit. */
    static final int LINE_BYTES_MAX = 2_048;

    /** The kinds of answers. Those of the meta protocol are named by their words. */
    enum Kind {
        VA, HD, EN, NS, EX, NF, MN, VALUE, END, STORED, NOT_STORED, EXISTS, NOT_FOUND, DELETED,
        TOUCHED, NUMBER, STAT, VERSION, OK, ERROR, CLIENT_ERROR, SERVER_ERROR
    }

    /** An opaque token that is absent. */
    static final long ABSENT = -1;

    private static final byte[][] WORDS = words();

    private final int valueBytesMax;

    Kind kind;
    byte[] buffer;
    /** The line behind its first word. */
    int textFrom;
    int textTo;
    /** The data block. */
    int dataFrom;
    int dataBytes;
    /** The key of a value, or the name of a statistic. */
    int keyFrom;
    int keyTo;
    int clientFlags;
    boolean hasCas;
    long cas;
    long number;
    /** {@link #ABSENT}, or the token; one that is no number is {@code ABSENT - 1}. */
    long opaque;
    boolean won;
    boolean isStale;
    boolean isTaken;
    boolean hasFlags;

    private int cursor;
    private int wordFrom;
    private int wordTo;

    Decoder(int valueBytesMax) {
        this.valueBytesMax = valueBytesMax;
    }

    private static byte[][] words() {
        Kind[] kinds = Kind.values();
        byte[][] words = new byte[kinds.length][];
        for (Kind one : kinds) {
            words[one.ordinal()] = one.name().getBytes(StandardCharsets.US_ASCII);
        }
        return words;
    }

    /**
     * Reads the first answer.
     *
     * @return the bytes that it takes; 0 where it is not whole
     * @throws ProtocolError the bytes are no answer of a memcached server, or exceed the limits
     */
    int decode(byte[] received, int from, int to) {
        buffer = received;
        int end = lineEnd(from, to);
        if (end < 0) {
            return 0;
        }
        if (end == from || received[end - 1] != '\r') {
            throw new ProtocolError(Violation.BAD_LINE_END);
        }
        textTo = end - 1;
        cursor = from;
        wordTo = from;
        word();
        // An empty first word is no answer; words behind it may be separated by several spaces.
        int wordEnd = wordFrom == from ? wordTo : from;
        textFrom = Math.min(wordEnd + 1, textTo);
        cursor = wordEnd;
        kind = kind(from, wordEnd);
        clear();
        switch (kind) {
            case VALUE -> {
                required();
                keyFrom = wordFrom;
                keyTo = wordTo;
                required();
                long flags = number(wordFrom, wordTo);
                if (flags >>> Integer.SIZE != 0) {
                    throw new ProtocolError(Violation.BAD_FIELD);
                }
                clientFlags = (int) flags;
                required();
                long bytes = number(wordFrom, wordTo);
                if (word()) {
                    cas = number(wordFrom, wordTo);
                    hasCas = true;
                }
                return block(end + 1, to, bytes, from);
            }
            case VA -> {
                required();
                long bytes = number(wordFrom, wordTo);
                flags();
                return block(end + 1, to, bytes, from);
            }
            case HD, EN, NS, EX, NF -> flags();
            case STAT -> {
                required();
                keyFrom = wordFrom;
                keyTo = wordTo;
            }
            case NUMBER -> number = number(from, wordEnd);
            default -> { }
        }
        return end + 1 - from;
    }

    private void clear() {
        clientFlags = 0;
        hasCas = false;
        cas = 0;
        number = 0;
        opaque = ABSENT;
        won = false;
        isStale = false;
        isTaken = false;
        hasFlags = false;
        dataFrom = 0;
        dataBytes = 0;
    }

    private int lineEnd(int from, int to) {
        int limit = Math.min(to, from + LINE_BYTES_MAX);
        byte[] bytes = buffer;
        for (int at = from; at < limit; at++) {
            if (bytes[at] == '\n') {
                return at;
            }
        }
        if (limit - from == LINE_BYTES_MAX) {
            throw new ProtocolError(Violation.LINE_TOO_LONG);
        }
        return -1;
    }

    private Kind kind(int from, int to) {
        int bytes = to - from;
        if (bytes > 0) {
            int first = buffer[from];
            if (first >= '0' && first <= '9') {
                return Kind.NUMBER;
            }
            if (first == 'V' && is(Kind.VALUE, from, bytes)) {
                return Kind.VALUE;
            }
            for (Kind one : Kinds.ALL) {
                if (is(one, from, bytes)) {
                    return one;
                }
            }
            if (is(RESET, from, bytes)) {
                return Kind.OK;
            }
        }
        throw new ProtocolError(Violation.UNKNOWN_ANSWER);
    }

    private static final byte[] RESET = "RESET".getBytes(StandardCharsets.US_ASCII);

    /** The kinds that are words. */
    private static final class Kinds {
        static final Kind[] ALL = java.util.Arrays.stream(Kind.values())
                .filter(one -> one != Kind.NUMBER).toArray(Kind[]::new);
    }

    private boolean is(Kind one, int from, int bytes) {
        return is(WORDS[one.ordinal()], from, bytes);
    }

    private boolean is(byte[] word, int from, int bytes) {
        if (word.length != bytes) {
            return false;
        }
        for (int at = 0; at < bytes; at++) {
            if (word[at] != buffer[from + at]) {
                return false;
            }
        }
        return true;
    }

    /** Goes to the next word of the line. */
    private boolean word() {
        int at = cursor;
        while (at < textTo && buffer[at] == ' ') {
            at++;
        }
        wordFrom = at;
        while (at < textTo && buffer[at] != ' ') {
            at++;
        }
        wordTo = at;
        cursor = at;
        return wordTo > wordFrom;
    }

    private void required() {
        if (!word()) {
            throw new ProtocolError(Violation.BAD_FIELD);
        }
    }

    /** Flags of a meta answer. Unknown ones are ignored: later servers have more. */
    private void flags() {
        while (word()) {
            hasFlags = true;
            int token = wordFrom + 1;
            switch (buffer[wordFrom]) {
                case 'c' -> {
                    cas = number(token, wordTo);
                    hasCas = true;
                }
                case 'f' -> {
                    long flags = number(token, wordTo);
                    if (flags >>> Integer.SIZE != 0) {
                        throw new ProtocolError(Violation.BAD_FIELD);
                    }
                    clientFlags = (int) flags;
                }
                case 't' -> {
                    boolean isNegative = token < wordTo && buffer[token] == '-';
                    if (number(isNegative ? token + 1 : token, wordTo) < 0) {
                        throw new ProtocolError(Violation.BAD_FIELD);
                    }
                }
                case 'O' -> opaque = token(token, wordTo);
                case 'W' -> won = true;
                case 'X' -> isStale = true;
                case 'Z' -> isTaken = true;
                default -> { }
            }
        }
    }

    private long token(int from, int to) {
        try {
            long token = number(from, to);
            return token >= 0 ? token : ABSENT - 1;
        } catch (ProtocolError error) {
            return ABSENT - 1;
        }
    }

    /** A decimal number without a sign, up to 2^64 - 1. */
    long number(int from, int to) {
        if (from >= to) {
            throw new ProtocolError(Violation.BAD_FIELD);
        }
        long sum = 0;
        for (int at = from; at < to; at++) {
            int digit = buffer[at] - '0';
            if (digit < 0 || digit > 9 || sum < 0 || sum > Long.MAX_VALUE / 5) {
                throw new ProtocolError(Violation.BAD_FIELD);
            }
            long tenfold = sum * 10;
            sum = tenfold + digit;
            if (tenfold < 0 && sum >= 0) {
                throw new ProtocolError(Violation.BAD_FIELD);
            }
        }
        return sum;
    }

    /** The data block behind the line; returns the bytes of the whole answer. */
    private int block(int at, int to, long bytes, int from) {
        if (bytes < 0 || bytes > valueBytesMax) {
            throw new ProtocolError(Violation.VALUE_TOO_LONG);
        }
        dataFrom = at;
        dataBytes = (int) bytes;
        int end = at + dataBytes;
        if (to - end < 2) {
            return 0;
        }
        if (buffer[end] != '\r' || buffer[end + 1] != '\n') {
            throw new ProtocolError(Violation.BAD_LINE_END);
        }
        return end + 2 - from;
    }
}
