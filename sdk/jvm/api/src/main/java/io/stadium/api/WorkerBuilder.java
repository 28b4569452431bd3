package io.stadium.api;

import io.stadium.rpc.RpcException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;

/** Makes a {@link Worker}. Each method checks its argument and returns the builder. */
public final class WorkerBuilder {
    private static final Duration RETRY_MAX = Duration.ofHours(1);

    private final AsyncQueue queue;
    private int concurrency = 8;
    private Duration lease = Duration.ofSeconds(30);
    private int settleBatchMax = 100;
    private Duration settleDelay = Duration.ofMillis(5);
    private Duration retryMin = Duration.ofMillis(100);
    private Duration retryMax = Duration.ofSeconds(5);
    private Duration drainWithin = Duration.ofSeconds(30);
    private String name = WorkerSettings.defaultName();
    private Executor executor;

    WorkerBuilder(AsyncQueue queue) {
        this.queue = queue;
    }

    /**
     * Sets how many jobs are worked on at once. More takes memory: a payload each.
     *
     * @param jobs 1 to 1,000; default 8
     * @return this builder
     */
    public WorkerBuilder concurrency(int jobs) {
        concurrency = Bounds.check("concurrency", jobs, 1, 1_000);
        return this;
    }

    /**
     * Sets the time after which the jobs of a worker that died are done by others. A shorter one
     * costs more extensions: one each third of it.
     *
     * @param time 1 s to 12 h; default 30 s
     * @return this builder
     */
    public WorkerBuilder lease(Duration time) {
        lease = Bounds.check("lease", time, Duration.ofSeconds(1), Duration.ofHours(12));
        return this;
    }

    /**
     * Sets how many results are settled by one request.
     *
     * @param results 1 to 1,000; default 100
     * @return this builder
     */
    public WorkerBuilder settleBatchMax(int results) {
        settleBatchMax = Bounds.check("settleBatchMax", results, 1, 1_000);
        return this;
    }

    /**
     * Sets the time that a result waits for others. More makes fewer requests.
     *
     * @param time 0 to 1 s; default 5 ms
     * @return this builder
     */
    public WorkerBuilder settleDelay(Duration time) {
        settleDelay = Bounds.check("settleDelay", time, Duration.ZERO, Duration.ofSeconds(1));
        return this;
    }

    /**
     * Sets the times between attempts to reach a server that is away.
     *
     * @param min at first, 1 ms to 1 h; default 100 ms
     * @param max at most, from {@code min} to 1 h; default 5 s
     * @return this builder
     */
    public WorkerBuilder retry(Duration min, Duration max) {
        retryMin = Bounds.check("min", min, Duration.ofMillis(1), RETRY_MAX);
        retryMax = Bounds.check("max", max, min, RETRY_MAX);
        return this;
    }

    /**
     * Sets how long handlers may go on once the worker is drained.
     *
     * @param time 0 to 1 h; default 30 s
     * @return this builder
     */
    public WorkerBuilder drainWithin(Duration time) {
        drainWithin = Bounds.check("drainWithin", time, Duration.ZERO, Duration.ofHours(1));
        return this;
    }

    /**
     * Sets the name in the history of jobs.
     *
     * @param name at most 64 bytes; default the host's name and the process id
     * @return this builder
     */
    public WorkerBuilder name(String name) {
        int bytes = name.getBytes(StandardCharsets.UTF_8).length;
        Bounds.check("the length of the name in bytes", bytes, 0, 64);
        this.name = name;
        return this;
    }

    /**
     * Sets where handlers run, such as on virtual threads. A job that it refuses is given back.
     *
     * @param executor the executor, which the caller ends after the worker; default a pool with as
     *     many threads as the concurrency
     * @return this builder
     */
    public WorkerBuilder executor(Executor executor) {
        this.executor = Objects.requireNonNull(executor, "executor");
        return this;
    }

    /**
     * Starts the worker.
     *
     * @param handler works on jobs, on threads of the executor
     * @return the worker, which its caller closes
     */
    public Worker start(JobHandler handler) {
        return startAsync(HandlerStarter.plain(Objects.requireNonNull(handler, "handler")));
    }

    /**
     * Starts the worker with a handler that holds no thread.
     *
     * @param handler begins jobs, on threads of the executor
     * @return the worker, which its caller closes
     */
    public Worker startAsync(AsyncJobHandler handler) {
        Objects.requireNonNull(handler, "handler");
        WorkerSettings settings = new WorkerSettings(concurrency, lease, settleBatchMax,
                settleDelay, retryMin, retryMax, drainWithin, name);
        WorkerCore core = new WorkerCore(queue, settings,
                new HandlerStarter(handler, executor, settings, queue.name()));
        core.start();
        return new Worker(core);
    }

    /**
     * Works until SIGTERM, Ctrl-C or another end of the process. The worker is drained then, and
     * the process ends afterwards. Close the client after this method, and not by a shutdown hook.
     *
     * @param handler works on jobs, on threads of the executor
     * @return what the drain did
     * @throws RpcException the server refuses the key or the requests; the worker was drained
     * @throws InterruptedException this thread was interrupted; the worker was drained
     */
    public Drained run(JobHandler handler) throws InterruptedException {
        try (Worker worker = start(handler)) {
            Thread hook = new Thread(worker::close, "stadium-shutdown");
            Runtime.getRuntime().addShutdownHook(hook);
            try {
                return worker.ended().get();
            } catch (ExecutionException e) {
                worker.check();
                throw new IllegalStateException(e.getCause());
            } finally {
                try {
                    Runtime.getRuntime().removeShutdownHook(hook);
                } catch (IllegalStateException e) {
                    // The process ends already, and the hook has run.
                }
            }
        }
    }
}
