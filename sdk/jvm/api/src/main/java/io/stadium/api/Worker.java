package io.stadium.api;

import io.stadium.rpc.RpcException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * Works on the jobs of a queue, from its start until it is drained.
 *
 * <p>It asks for as many jobs as it can begin, and for no more. The lease of a job is extended
 * while its handler runs. Results are settled in batches, and sent again until the server has them.
 * A server that is away is no error. The jobs of a worker that dies are done by others when their
 * leases end.
 */
public final class Worker implements AutoCloseable {
    private static final Duration WITHIN_MAX = Duration.ofDays(1);

    private final WorkerCore core;

    Worker(WorkerCore core) {
        this.core = core;
    }

    /**
     * The end of the worker. It comes after {@link #drain}, or by itself where the server refuses
     * the key or the requests.
     *
     * @return completed when the worker was drained; it fails with the error that stopped the
     *     worker, such as {@link io.stadium.rpc.Rejected} with {@code NODE-009}
     */
    public CompletableFuture<Drained> ended() {
        return core.ended().copy();
    }

    /**
     * The counts of its jobs so far.
     *
     * @return the counts
     */
    public WorkerCounts counts() {
        return core.counts();
    }

    /**
     * Throws the error that stopped the worker, where one did. A server that is away is no error.
     *
     * @throws RpcException the server refuses the key or the requests
     */
    public void check() {
        RuntimeException error = core.error();
        if (error != null) {
            error.setStackTrace(new Throwable().getStackTrace());
            throw error;
        }
    }

    /**
     * Drains within the time of {@link WorkerBuilder#drainWithin}.
     *
     * @return what it did
     * @throws RpcException the error that stopped the worker before
     */
    public Drained drain() {
        return drain(core.settings.drainWithin());
    }

    /**
     * Takes no new jobs, lets handlers end, and settles all results. Where handlers have not ended
     * in time, their threads are interrupted and their jobs are given back. This may take 5.2 s
     * more than the time. Where this thread is interrupted, handlers get no more time.
     *
     * @param within the time for handlers, 0 to a day; of several drains the shortest counts
     * @return what it did
     * @throws RpcException the error that stopped the worker before
     */
    public Drained drain(Duration within) {
        Bounds.check("within", within, Duration.ZERO, WITHIN_MAX);
        core.drain(within);
        boolean isInterrupted = false;
        try {
            while (true) {
                try {
                    return core.ended().get();
                } catch (InterruptedException e) {
                    isInterrupted = true;
                    core.drain(Duration.ZERO);
                } catch (ExecutionException e) {
                    check();
                    throw new IllegalStateException(e.getCause());
                }
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Drains, where that was not done. An error that stopped the worker is not thrown here. */
    @Override
    public void close() {
        try {
            drain();
        } catch (RuntimeException e) {
            if (e != core.error()) {
                throw e;
            }
        }
    }
}
