package io.stadium.memcache;

import io.stadium.memcache.protocol.Operation;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * The result of an operation that is on its way.
 *
 * <p>An operation goes on when this is dropped, and its result is lost: that is the ordinary use of
 * a set.
 *
 * @param <T> results
 */
public final class Pending<T> {
    private final ClientCore core;
    private final Server server;
    private final Operation operation;
    private final Function<Operation, T> convert;

    Pending(ClientCore core, Server server, Operation operation, Function<Operation, T> convert) {
        this.core = core;
        this.server = server;
        this.operation = operation;
        this.convert = convert;
    }

    /**
     * Waits for the result, at most until the deadline of the operation: its submission plus
     * {@link ClientBuilder#timeout}. The calling thread drives the connection for all callers.
     *
     * @return the result
     * @throws MemcacheException the operation failed; {@link DeadlineExceeded} at the deadline
     */
    public T await() {
        core.await(server, operation);
        return convert.apply(operation);
    }

    /**
     * True where the result is there, so that {@link #await} returns at once. It does no I/O: an
     * answer that was not read yet is not there. One that no caller waits for is read after some 2
     * ms.
     *
     * @return {@code false} while the operation is on its way
     */
    public boolean isDone() {
        return operation.isDone();
    }

    /** Lets the operation go on; its result is lost. It names the intention, and does nothing. */
    public void ignore() {}

    /**
     * A future of the result, which is completed with {@link DeadlineExceeded} at the deadline. A
     * thread of the client drives the connection for it. The future is completed by
     * {@link ClientBuilder#executor}, so its dependents may block. Cancelling it does not end the
     * operation.
     *
     * @return a new future
     */
    public CompletableFuture<T> toCompletableFuture() {
        CompletableFuture<T> future = new CompletableFuture<>();
        server.connection.listen(operation, late -> core.executor.execute(() -> {
            MemcacheException error = late == null ? operation.error : late;
            server.note(error);
            if (error != null) {
                future.completeExceptionally(error);
                return;
            }
            try {
                future.complete(convert.apply(operation));
            } catch (MemcacheException failure) {
                future.completeExceptionally(failure);
            }
        }));
        return future;
    }
}
