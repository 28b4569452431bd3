package io.stadium.memcache;

import java.util.Optional;

/**
 * The outcome of one key or one server of several: a value, or its error.
 *
 * @param <T> values
 */
public final class Outcome<T> {
    private final T value;
    private final MemcacheException error;

    private Outcome(T value, MemcacheException error) {
        this.value = value;
        this.error = error;
    }

    static <T> Outcome<T> of(T value) {
        return new Outcome<>(value, null);
    }

    static <T> Outcome<T> failed(MemcacheException error) {
        return new Outcome<>(null, error);
    }

    /**
     * Tests for success.
     *
     * @return {@code false} where there is an error
     */
    public boolean isOk() {
        return error == null;
    }

    /**
     * The value.
     *
     * @return the value; {@code null} where a key has none
     * @throws MemcacheException the error, where there is one
     */
    public T get() {
        if (error != null) {
            error.setStackTrace(new Throwable().getStackTrace());
            throw error;
        }
        return value;
    }

    /**
     * The error.
     *
     * @return empty where there is none
     */
    public Optional<MemcacheException> error() {
        return Optional.ofNullable(error);
    }

    @Override
    public String toString() {
        return error == null ? String.valueOf(value) : error.getMessage();
    }
}
