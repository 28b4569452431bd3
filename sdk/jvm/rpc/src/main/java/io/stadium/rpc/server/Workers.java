package io.stadium.rpc.server;

import java.lang.reflect.InvocationTargetException;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The threads of functions that may block: a bounded number of platform threads, or a bounded
 * number of virtual ones where the JDK has them.
 */
final class Workers implements Executor, AutoCloseable {
    /** {@code null} where the JDK has no virtual threads. */
    private static final ThreadFactory VIRTUAL = virtualThreads();

    private final ThreadPoolExecutor pool;
    private final int threadsMax;
    private final AtomicInteger running = new AtomicInteger();

    private Workers(ThreadPoolExecutor pool, int threadsMax) {
        this.pool = pool;
        this.threadsMax = threadsMax;
    }

    static boolean hasVirtualThreads() {
        return VIRTUAL != null;
    }

    /** So many platform threads, and tasks that wait for one. */
    static Workers platform(String name, int threads, int waitingMax) {
        AtomicInteger number = new AtomicInteger();
        ThreadFactory factory = task -> {
            Thread thread = new Thread(task, name + "-" + number.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        };
        ThreadPoolExecutor pool = waitingMax == 0
                ? new ThreadPoolExecutor(
                        0, threads, 60, TimeUnit.SECONDS, new SynchronousQueue<>(), factory)
                : new ThreadPoolExecutor(
                        threads, threads, 60, TimeUnit.SECONDS,
                        new LinkedBlockingQueue<>(waitingMax), factory);
        pool.allowCoreThreadTimeOut(true);
        return new Workers(pool, threads);
    }

    /** A virtual thread for each task, at most so many at a time. */
    static Workers virtual(int threads) {
        return new Workers(null, threads);
    }

    @Override
    public void execute(Runnable task) {
        if (pool != null) {
            pool.execute(task);
            return;
        }
        if (running.incrementAndGet() > threadsMax) {
            running.decrementAndGet();
            throw new RejectedExecutionException("all threads are in use");
        }
        VIRTUAL.newThread(() -> {
            try {
                task.run();
            } finally {
                running.decrementAndGet();
            }
        }).start();
    }

    /** Interrupts the functions that are left. */
    @Override
    public void close() {
        if (pool != null) {
            pool.shutdownNow();
        }
    }

    /** {@code Thread.ofVirtual().name("stadium-", 0).factory()}, of JDK 21 and later. */
    private static ThreadFactory virtualThreads() {
        try {
            Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
            Class<?> type = Class.forName("java.lang.Thread$Builder");
            builder = type.getMethod("name", String.class, long.class)
                    .invoke(builder, "stadium-", 0L);
            return (ThreadFactory) type.getMethod("factory").invoke(builder);
        } catch (NoSuchMethodException | ClassNotFoundException | IllegalAccessException e) {
            return null;
        } catch (InvocationTargetException e) {
            // JDK 19 and 20 have them as a preview.
            return null;
        }
    }
}
