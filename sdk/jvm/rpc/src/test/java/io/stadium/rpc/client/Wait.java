package io.stadium.rpc.client;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.rpc.RpcException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** Waits for conditions with a deadline. */
final class Wait {
    private static final long SECONDS = 20;

    private Wait() {}

    static void until(BooleanSupplier condition, String what) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, "not in time: " + what);
            Thread.sleep(2);
        }
    }

    /** The failure of a call, which is of one type. */
    static <E extends RpcException> E failure(Class<E> type, CompletableFuture<?> future)
            throws Exception {
        try {
            Object answer = future.get(SECONDS, TimeUnit.SECONDS);
            throw new AssertionError("an answer instead of " + type + ": " + answer);
        } catch (ExecutionException e) {
            return assertInstanceOf(type, e.getCause());
        }
    }

    static <T> T answer(CompletableFuture<T> future) throws Exception {
        return future.get(SECONDS, TimeUnit.SECONDS);
    }
}
