package io.stadium.memcache;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/** Conditions with a deadline, and work of several threads. */
final class Soon {
    static final long SECONDS = 10;

    private Soon() {}

    /** A condition that may fail with anything. */
    interface Condition {
        boolean holds() throws Exception;
    }

    /** Work of a thread. */
    interface Work {
        void run(int at) throws Exception;
    }

    /** A condition that throws a failure of the client does not hold yet. */
    static void until(String what, Condition condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        MemcacheException last = null;
        while (System.nanoTime() < end) {
            try {
                if (condition.holds()) {
                    return;
                }
            } catch (MemcacheException error) {
                last = error;
            }
            Thread.sleep(2);
        }
        throw new AssertionError("not in time: " + what, last);
    }

    /** Runs the work in threads, and fails with the first failure of one. */
    static void together(int threads, Work work) throws Exception {
        List<FutureTask<Void>> tasks = new ArrayList<>();
        for (int thread = 0; thread < threads; thread++) {
            int at = thread;
            FutureTask<Void> task = new FutureTask<>(() -> {
                work.run(at);
                return null;
            });
            tasks.add(task);
            new Thread(task).start();
        }
        for (FutureTask<Void> task : tasks) {
            try {
                task.get(3 * SECONDS, TimeUnit.SECONDS);
            } catch (ExecutionException error) {
                throw new AssertionError("a thread failed", error.getCause());
            }
        }
    }

    static void within(long millis, Condition condition) throws Exception {
        long begun = System.nanoTime();
        assertTrue(condition.holds());
        long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
        assertTrue(took < millis, "it took " + took + " ms");
    }
}
