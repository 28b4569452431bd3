package io.stadium.api;

import java.time.Duration;
import java.util.List;

/** Bounds that the server has too: a request beyond them is not sent. */
final class Bounds {
    /** Jobs, leases, transfers or accounts of one request. Such a request is not split. */
    static final int ITEMS_MAX = 1_000;

    private Bounds() {}

    static int check(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    name + " must be between " + min + " and " + max + ", not " + value);
        }
        return value;
    }

    static Duration check(String name, Duration value, Duration min, Duration max) {
        if (value.compareTo(min) < 0 || value.compareTo(max) > 0) {
            throw new IllegalArgumentException(name + " must be between " + min.toMillis() + " and "
                    + max.toMillis() + " ms, not " + value);
        }
        return value;
    }

    /** The items of a request, copied. */
    static <T> List<T> items(String name, List<T> items) {
        check("the number of " + name + " in one request", items.size(), 1, ITEMS_MAX);
        return List.copyOf(items);
    }
}
