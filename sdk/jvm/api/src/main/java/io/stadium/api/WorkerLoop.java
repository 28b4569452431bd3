package io.stadium.api;

import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** The thread of a worker, which alone changes its state. It keeps the process alive. */
final class WorkerLoop {
    private final ScheduledThreadPoolExecutor thread;

    WorkerLoop(String queue) {
        thread = new ScheduledThreadPoolExecutor(
                1, body -> new Thread(body, "stadium-worker-" + queue));
        thread.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
        thread.setRemoveOnCancelPolicy(true);
    }

    static long now() {
        return System.nanoTime();
    }

    /** Has something done by the thread; nothing where it has ended. */
    void execute(Runnable what) {
        try {
            thread.execute(() -> guarded(what));
        } catch (RejectedExecutionException e) {
            // The worker has ended, and its jobs were given back.
        }
    }

    /** The same at a time of {@link #now}. */
    ScheduledFuture<?> at(long time, Runnable what) {
        long delay = Math.max(0, time == Long.MIN_VALUE ? 0 : time - now());
        return thread.schedule(() -> guarded(what), delay, TimeUnit.NANOSECONDS);
    }

    private static void guarded(Runnable what) {
        try {
            what.run();
        } catch (RuntimeException | Error e) {
            WorkerCore.LOG.error("Worker has a defect", e);
            throw e;
        }
    }

    void end() {
        thread.shutdown();
    }
}
