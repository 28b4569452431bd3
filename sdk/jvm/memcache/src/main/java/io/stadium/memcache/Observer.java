package io.stadium.memcache;

/**
 * Notified of operations, for metrics and traces. Without one, nothing is measured.
 *
 * <p>The methods may be called by any thread that uses the client, and must not block.
 */
@FunctionalInterface
public interface Observer {
    /**
     * An operation was submitted, by the calling thread. A tracer begins a span here.
     *
     * @param operation such as {@code get}, {@code set} or {@code incr}
     * @param server the server of its key
     * @return given to {@link #finished}; may be {@code null}
     */
    default Object started(String operation, Address server) {
        return null;
    }

    /**
     * An operation has ended, by its answer, its deadline or a lost connection.
     *
     * @param operation such as {@code get}, {@code set} or {@code incr}
     * @param server the server of its key
     * @param started the result of {@link #started}
     * @param nanos nanoseconds from its submission until its answer was read, or its end otherwise
     * @param error {@code null} where the server carried it out
     */
    void finished(
            String operation, Address server, Object started, long nanos, MemcacheException error);
}
