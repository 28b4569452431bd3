package io.stadium.memcache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Reads see the writes before them, from any number of threads on one connection. */
@Timeout(60)
class OrderTest {
    private static final Expiry NEVER = Expiry.NEVER;

    @Test
    void eightThreadsReadTheirOwnWrites() throws Exception {
        for (Dialect dialect : Dialect.values()) {
            try (Memcached server = Memcached.tcp();
                    MemcacheClient client = server.settings().dialect(dialect).build()) {
                Soon.together(8, thread -> mixedLoad(client, thread, 1_000));
            }
        }
    }

    /** Each thread writes and reads its own keys at random and knows the values. */
    private static void mixedLoad(MemcacheClient client, int thread, int rounds) {
        Random random = new Random(thread);
        String[] known = new String[5];
        for (int round = 0; round < rounds; round++) {
            int at = random.nextInt(known.length);
            String key = thread + ":" + at;
            switch (random.nextInt(10)) {
                case 0, 1, 2, 3 -> {
                    known[at] = Integer.toString(round);
                    client.set(key, known[at], NEVER).ignore();
                }
                case 4 -> {
                    client.delete(key).ignore();
                    known[at] = null;
                }
                case 5 -> {
                    Long expected = known[at] == null ? null : Long.parseLong(known[at]) + 3;
                    assertEquals(expected, client.incr(key, 3).await(), key);
                    known[at] = expected == null ? null : expected.toString();
                }
                case 6 -> {
                    // A get that is not waited for yet, and a write behind it.
                    Pending<Value> get = client.fetch(key);
                    client.set(key, "1", NEVER).ignore();
                    assertEquals(known[at], text(get.await()), key);
                    known[at] = "1";
                }
                default -> assertEquals(known[at], text(client.get(key)), key);
            }
        }
    }

    private static String text(Value value) {
        return value == null ? null : value.utf8();
    }

    @Test
    void aCounterOfEightThreadsLosesNothing() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient client = server.client()) {
            client.set("n", "0", NEVER).await();
            Soon.together(8, thread -> {
                List<Pending<Long>> pending = new ArrayList<>();
                for (int at = 0; at < 200; at++) {
                    pending.add(client.incr("n", 1));
                }
                long last = 0;
                for (Pending<Long> one : pending) {
                    long number = one.await();
                    assertTrue(number > last, "the order of one thread is kept");
                    last = number;
                }
            });
            assertEquals("1600", client.get("n").utf8());
        }
    }

    @Test
    void aThousandOperationsAreInFlight() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient client = server.client()) {
            ArrayDeque<Pending<Value>> pending = new ArrayDeque<>();
            int oldest = 0;
            for (int number = 0; number < 20_000; number++) {
                String key = "k" + number % 3_000;
                client.set(key, Integer.toString(number), NEVER).ignore();
                pending.add(client.fetch(key));
                if (pending.size() > 1_000) {
                    assertEquals(Integer.toString(oldest++), pending.poll().await().utf8());
                }
            }
        }
    }

    @Test
    void futuresAreCompletedAndTheirDependentsMayBlock() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient client = server.client()) {
            CompletableFuture<String> chain = CompletableFuture.completedFuture("0");
            for (int number = 1; number <= 100; number++) {
                String next = Integer.toString(number);
                chain = chain
                        .thenCompose(text -> client.set("k", next, NEVER).toCompletableFuture())
                        .thenCompose(nothing -> client.fetch("k").toCompletableFuture())
                        .thenApply(value -> client.get("k").utf8());
            }
            assertEquals("100", chain.get(Soon.SECONDS, TimeUnit.SECONDS));
            Pending<Value> done = client.fetch("none");
            assertNull(done.await());
            assertNull(done.toCompletableFuture().get(Soon.SECONDS, TimeUnit.SECONDS));

            server.pause();
            Pending<Value> late = client.withTimeout(Duration.ofMillis(50)).fetch("k");
            Soon.within(1_000, () -> {
                CompletionException error = assertThrows(CompletionException.class,
                        () -> late.toCompletableFuture().join());
                return error.getCause() instanceof DeadlineExceeded;
            });
            server.resume();
            assertEquals("100", client.get("k").utf8());
        }
    }

    @Test
    void anInterruptedCallerLeavesAndTheOthersGoOn() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient client = server.client()) {
            client.set("k", "v", NEVER).await();
            server.pause();
            Thread driver = new Thread(() -> {
                assertThrows(Interrupted.class, () -> client.get("k"));
                assertTrue(Thread.currentThread().isInterrupted(), "the status stays");
            });
            Throwable[] failure = new Throwable[1];
            driver.setUncaughtExceptionHandler((thread, error) -> failure[0] = error);
            driver.start();
            Soon.until("it drives", () -> driver.getState() == Thread.State.RUNNABLE);
            CompletableFuture<Value> other = CompletableFuture.supplyAsync(() -> client.get("k"));
            driver.interrupt();
            driver.join(TimeUnit.SECONDS.toMillis(Soon.SECONDS));
            assertNull(failure[0]);
            server.resume();
            assertEquals("v", other.get(Soon.SECONDS, TimeUnit.SECONDS).utf8());
        }
    }
}
