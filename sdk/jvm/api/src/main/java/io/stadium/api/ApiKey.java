package io.stadium.api;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * An API key, and its source. The source is asked again at most once a second, so that a key can be
 * rotated while the program runs. A source that fails later, such as a file that is being replaced,
 * leaves the key as it was. A key is never part of a text, an error or a log line.
 */
public final class ApiKey {
    /** The time for which a key is used before its source is asked again. */
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** The time within which a refusal may be that of the key before: calls were under way. */
    private static final long JUST_NOW_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** The longest key. Keys of a server have 46 bytes; tokens are longer. */
    private static final int LENGTH_MAX = 16_384;

    private final Source source;
    private final String name;
    private final ReentrantLock lock = new ReentrantLock();
    private volatile Read last;

    /** A key as it was read. {@code changedAt} is meaningful where {@code hasChanged}. */
    private record Read(String key, long at, boolean hasChanged, long changedAt) {}

    /** Where a key is from. */
    private interface Source {
        String read() throws IOException;
    }

    private ApiKey(Source source, String name) {
        this.source = source;
        this.name = name;
    }

    /**
     * A key that does not change.
     *
     * @param key printable ASCII without spaces; white space around it is left out
     * @return the key
     * @throws IllegalArgumentException the text is no key
     */
    public static ApiKey of(String key) {
        String checked = checked(key, "the text");
        return new ApiKey(() -> checked, "a text");
    }

    /**
     * The content of a file, without the white space around it.
     *
     * @param path the file, in UTF-8
     * @return the key
     */
    public static ApiKey file(Path path) {
        Objects.requireNonNull(path, "path");
        return new ApiKey(() -> {
            if (Files.size(path) > LENGTH_MAX) {
                throw new IOException("the file is too long for an API key: " + path);
            }
            return Files.readString(path, StandardCharsets.UTF_8);
        }, "file " + path);
    }

    /**
     * The variable STADIUM_KEY of the environment.
     *
     * @return the key
     */
    public static ApiKey environment() {
        return environment("STADIUM_KEY");
    }

    /**
     * A variable of the environment.
     *
     * @param variable its name
     * @return the key
     * @throws IllegalStateException the variable is not set
     */
    public static ApiKey environment(String variable) {
        String value = System.getenv(variable);
        if (value == null) {
            throw new IllegalStateException("the variable of the API key is not set: " + variable);
        }
        String key = checked(value, "the variable " + variable);
        return new ApiKey(() -> key, "environment " + variable);
    }

    /**
     * A function that gives the key, for example from a secret store.
     *
     * @param source called on a thread that makes a request, by one thread at a time; it should not
     *     take long
     * @return the key
     */
    public static ApiKey from(Supplier<String> source) {
        Objects.requireNonNull(source, "source");
        return new ApiKey(source::get, "a supplier");
    }

    /** The key for a request; the error of its source where there never was a key. */
    String read() {
        Read now = last;
        if (now != null && System.nanoTime() - now.at < FRESH_NANOS) {
            return now.key;
        }
        if (now != null && !lock.tryLock()) {
            // Another thread asks the source.
            return now.key;
        }
        if (now == null) {
            lock.lock();
        }
        try {
            return last != null && last != now ? last.key : ask().key;
        } finally {
            lock.unlock();
        }
    }

    /** Asks the source now. Whether the key changed within the last ten seconds. */
    boolean hasChangedJustNow() {
        lock.lock();
        try {
            Read now = ask();
            return now.hasChanged && System.nanoTime() - now.changedAt < JUST_NOW_NANOS;
        } finally {
            lock.unlock();
        }
    }

    private Read ask() {
        Read before = last;
        long at = System.nanoTime();
        String key;
        try {
            key = checked(sourceText(), name);
        } catch (IllegalArgumentException | IllegalStateException e) {
            if (before == null) {
                throw new IllegalStateException(e.getMessage(), e.getCause());
            }
            key = before.key;
        }
        boolean isOther = before != null && !before.key.equals(key);
        boolean hasChanged = isOther || before != null && before.hasChanged;
        last = new Read(key, at, hasChanged, isOther || before == null ? at : before.changedAt);
        return last;
    }

    private String sourceText() {
        try {
            return source.read();
        } catch (IOException e) {
            throw new IllegalStateException("the API key cannot be read: " + name, e);
        } catch (RuntimeException e) {
            // Its text is another program's, and could quote the key.
            throw new IllegalStateException("the API key cannot be read: " + name);
        }
    }

    private static String checked(String text, String source) {
        String key = text == null ? "" : text.strip();
        if (key.isEmpty() || key.length() > LENGTH_MAX) {
            throw new IllegalArgumentException("the API key is empty or too long: " + source);
        }
        if (!key.chars().allMatch(character -> character > ' ' && character <= '~')) {
            throw new IllegalArgumentException(
                    "the API key has a character that no key has: " + source);
        }
        return key;
    }

    /** Names the source, and hides the key. */
    @Override
    public String toString() {
        return "ApiKey[" + name + "]";
    }
}
