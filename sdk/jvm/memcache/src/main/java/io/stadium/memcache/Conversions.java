package io.stadium.memcache;

import io.stadium.memcache.protocol.Operation;
import io.stadium.memcache.protocol.Operation.Outcome;
import java.util.function.Function;

/** The results of operations that are done, and a program's own types. */
final class Conversions {
    static final Function<Operation, Void> SET = operation -> {
        if (operation.outcome != Outcome.DONE) {
            throw new ServerError("not stored");
        }
        return null;
    };

    static final Function<Operation, Stored> STORED = operation -> switch (operation.outcome) {
        case DONE -> Stored.STORED;
        case NOT_STORED -> Stored.NOT_STORED;
        case EXISTS -> Stored.CHANGED;
        case NOT_FOUND -> Stored.MISSING;
    };

    static final Function<Operation, Long> NUMBER =
            operation -> operation.outcome == Outcome.DONE ? operation.number : null;

    static final Function<Operation, Boolean> WAS_THERE =
            operation -> operation.outcome == Outcome.DONE;

    private Conversions() {}

    static <T> Value write(Format<T> format, T value) {
        try {
            return format.write(value);
        } catch (Exception error) {
            throw failed(error);
        }
    }

    static <T> T read(Format<T> format, Value value) {
        try {
            return format.read(value.bytes(), value.flags());
        } catch (Exception error) {
            throw failed(error);
        }
    }

    private static FormatError failed(Exception error) {
        FormatError failed = new FormatError(String.valueOf(error.getMessage()));
        failed.initCause(error);
        failed.setStackTrace(new Throwable().getStackTrace());
        return failed;
    }
}
