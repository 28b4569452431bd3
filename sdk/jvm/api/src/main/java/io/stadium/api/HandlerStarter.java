package io.stadium.api;

import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Runs handlers on an executor. */
final class HandlerStarter implements WorkerCore.Starter {
    private static final long IDLE_S = 60;

    private final AsyncJobHandler handler;
    private final Executor executor;

    /** The worker's own pool; {@code null} where the executor was given. */
    private final ThreadPoolExecutor pool;

    HandlerStarter(AsyncJobHandler handler, Executor given, WorkerSettings settings, String queue) {
        this.handler = handler;
        pool = given == null ? pool(settings.concurrency(), queue) : null;
        executor = given == null ? pool : given;
    }

    /** A handler that ends when it returns. */
    static AsyncJobHandler plain(JobHandler handler) {
        return job -> {
            handler.handle(job);
            return null;
        };
    }

    /**
     * A thread for each job at once. Its queue holds those that wait for a thread that has just
     * ended another job, so the concurrency bounds both.
     */
    private static ThreadPoolExecutor pool(int threads, String queue) {
        ThreadPoolExecutor pool = new ThreadPoolExecutor(
                threads, threads, IDLE_S, TimeUnit.SECONDS, new LinkedBlockingQueue<>(threads),
                body -> {
                    Thread thread = new Thread(body, "stadium-job-" + queue);
                    thread.setDaemon(true);
                    return thread;
                });
        pool.allowCoreThreadTimeOut(true);
        return pool;
    }

    @Override
    public void start(WorkerCore core, HeldJob job) {
        try {
            executor.execute(() -> run(core, job));
        } catch (RuntimeException | OutOfMemoryError e) {
            // Its queue is full, it was shut down, or there are no more threads.
            core.refused(job, e);
        }
    }

    private void run(WorkerCore core, HeldJob held) {
        CompletionStage<?> stage = null;
        Throwable failure = null;
        held.begin();
        try {
            stage = handler.handle(held.job);
        } catch (Throwable e) {
            failure = e;
        } finally {
            held.end();
        }
        if (stage == null || failure != null) {
            finish(core, held, failure);
        } else {
            stage.whenComplete((done, why) -> finish(core, held,
                    why instanceof CompletionException && why.getCause() != null
                            ? why.getCause() : why));
        }
    }

    private static void finish(WorkerCore core, HeldJob held, Throwable failure) {
        if (failure == null) {
            core.finish(held, JobResult.SETTLED);
            return;
        }
        if (!(failure instanceof Bury) && !(failure instanceof Retry) && !held.job.isLost()) {
            WorkerCore.LOG.warn("Job failed: queue={} job={} attempt={}", core.queue.name(),
                    Long.toUnsignedString(held.job.id()), held.job.attempt(), failure);
        }
        core.finish(held, JobResult.of(failure));
    }

    @Override
    public void end() {
        if (pool != null) {
            pool.shutdown();
        }
    }
}
