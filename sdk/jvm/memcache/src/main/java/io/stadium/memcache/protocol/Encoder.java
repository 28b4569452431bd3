package io.stadium.memcache.protocol;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.stadium.memcache.Dialect;

/**
 * Writes commands. Arguments that only the meta protocol can express are ignored by the classic
 * one: the driver refuses them before.
 */
public final class Encoder {
    /** The command {@code mn}: its answer shows that all commands before it were carried out. */
    static final byte[] NOOP = ascii("mn\r\n");

    private static final byte[] META_GET = ascii("mg ");
    private static final byte[] META_SET = ascii("ms ");
    private static final byte[] META_DELETE = ascii("md ");
    private static final byte[] META_ARITHMETIC = ascii("ma ");
    private static final byte[] BASE64 = ascii(" b");
    private static final byte[] READ_FLAGS = ascii(" v f t");
    private static final byte[] CAS_FLAG = ascii(" c");
    private static final byte[] QUIET = ascii(" q");
    private static final byte[] VALUE_FLAG = ascii(" v");
    private static final byte[] STALE_FLAG = ascii(" I");
    private static final byte[] DECREMENT = ascii(" MD");
    private static final byte[] LINE_END = ascii("\r\n");

    private Encoder() {}

    private static byte[] ascii(String text) {
        return text.getBytes(US_ASCII);
    }

    /** Appends a whole command. {@code get} of several keys is the outbox's. */
    static void write(Bytes out, Operation operation, Dialect dialect) {
        if (operation.command == Command.STATS || operation.command == Command.VERSION) {
            out.put(operation.value);
            out.put(LINE_END);
        } else if (dialect == Dialect.META) {
            meta(out, operation);
        } else {
            classic(out, operation);
        }
    }

    private static void meta(Bytes out, Operation operation) {
        switch (operation.command) {
            case GET, GETS, LOOKUP -> {
                begin(out, META_GET, operation);
                out.put(READ_FLAGS);
                if (operation.command != Command.GET) {
                    out.put(CAS_FLAG);
                }
                flag(out, 'N', operation.expiry);
                if (operation.recacheSeconds > 0) {
                    flag(out, 'R', operation.recacheSeconds);
                }
            }
            case SET, ADD, REPLACE, APPEND, PREPEND, CAS -> {
                store(out, operation);
                return;
            }
            case DELETE -> begin(out, META_DELETE, operation);
            case INVALIDATE -> {
                begin(out, META_DELETE, operation);
                out.put(STALE_FLAG);
                flag(out, 'T', operation.expiry);
            }
            case INCR, DECR -> {
                begin(out, META_ARITHMETIC, operation);
                out.put(VALUE_FLAG);
                number(out, 'D', operation.number);
                if (operation.command == Command.DECR) {
                    out.put(DECREMENT);
                }
                if (operation.expiry != Operation.ABSENT) {
                    number(out, 'J', operation.initial);
                    flag(out, 'N', operation.expiry);
                }
            }
            case TOUCH -> {
                begin(out, META_GET, operation);
                flag(out, 'T', operation.expiry);
            }
            default -> throw new AssertionError(operation.command);
        }
        end(out, operation);
    }

    private static void begin(Bytes out, byte[] word, Operation operation) {
        out.put(word);
        Keys.write(out, operation.key, operation.isBinary);
        if (operation.isBinary) {
            out.put(BASE64);
        }
    }

    private static void end(Bytes out, Operation operation) {
        number(out, 'O', operation.opaque);
        out.put(LINE_END);
    }

    private static void store(Bytes out, Operation operation) {
        out.put(META_SET);
        Keys.write(out, operation.key, operation.isBinary);
        out.put(' ');
        out.number(operation.value.length);
        if (operation.isBinary) {
            out.put(BASE64);
        }
        int mode = switch (operation.command) {
            case ADD -> 'E';
            case REPLACE -> 'R';
            case APPEND -> 'A';
            case PREPEND -> 'P';
            default -> 0;
        };
        if (mode != 0) {
            out.put(' ');
            out.put('M');
            out.put(mode);
        }
        if (operation.flags != 0) {
            number(out, 'F', Integer.toUnsignedLong(operation.flags));
        }
        if (operation.expiry != 0) {
            flag(out, 'T', operation.expiry);
        }
        if (operation.command == Command.CAS) {
            number(out, 'C', operation.number);
        }
        if (operation.expect == Operation.Expect.QUIET) {
            out.put(QUIET);
        } else {
            number(out, 'O', operation.opaque);
        }
        block(out, operation);
    }

    private static void classic(Bytes out, Operation operation) {
        out.put(ascii(operation.command.text()));
        out.put(' ');
        Keys.write(out, operation.key, false);
        switch (operation.command.verb()) {
            case STORE -> {
                long expiry = operation.expiry == Operation.ABSENT ? 0 : operation.expiry;
                out.put(' ');
                out.number(Integer.toUnsignedLong(operation.flags));
                out.put(' ');
                out.signed(expiry);
                out.put(' ');
                out.number(operation.value.length);
                if (operation.command == Command.CAS) {
                    out.put(' ');
                    out.number(operation.number);
                }
                block(out, operation);
                return;
            }
            case ARITHMETIC -> {
                out.put(' ');
                out.number(operation.number);
            }
            case TOUCH -> {
                out.put(' ');
                out.signed(operation.expiry);
            }
            default -> { }
        }
        out.put(LINE_END);
    }

    /** The end of the line, and the value. */
    private static void block(Bytes out, Operation operation) {
        byte[] value = operation.value;
        out.room(value.length + 2 * LINE_END.length);
        out.put(LINE_END);
        out.put(value);
        out.put(LINE_END);
    }

    private static void number(Bytes out, int flag, long number) {
        out.put(' ');
        out.put(flag);
        out.number(number);
    }

    private static void flag(Bytes out, int flag, long number) {
        if (number != Operation.ABSENT) {
            out.put(' ');
            out.put(flag);
            out.signed(number);
        }
    }
}
