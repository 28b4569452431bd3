package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.rpc.Rejected;
import io.stadium.v1.HistoryEntry;
import io.stadium.v1.JobState;
import io.stadium.v1.QueueSettings;
import io.stadium.v1.QueueStats;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Workers in this process, on the real server. */
@Timeout(120)
class WorkerTest {
    private static TestServer server;
    private static Stadium stadium;

    @BeforeAll
    static void connect() throws Exception {
        server = TestServer.shared();
        stadium = server.connect();
    }

    @AfterAll
    static void close() {
        if (stadium != null) {
            stadium.close();
        }
    }

    /** A queue whose lost jobs come back soon. */
    static Queue declared(Stadium stadium, String name) {
        Queue queue = stadium.queue(name);
        queue.declare(QueueSettings.newBuilder().setLeaseMs(1_000).setBackoffFirstMs(10)
                .setBackoffMaxMs(20).setAttemptsMax(1_000).build());
        return queue;
    }

    static List<NewJob> jobs(int first, int end) {
        return IntStream.range(first, end).mapToObj(nth -> NewJob.of("" + nth)).toList();
    }

    @Test
    void jobsAreSettledAndNoMoreAreHeldThanWanted() throws Exception {
        Queue queue = declared(stadium, "settled");
        queue.putAll(jobs(0, 200));
        AtomicInteger running = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        Set<String> done = ConcurrentHashMap.newKeySet();
        try (Worker worker = stadium.worker("settled").concurrency(7).start(job -> {
            most.accumulateAndGet(running.incrementAndGet(), Math::max);
            Thread.sleep(2);
            running.decrementAndGet();
            done.add(job.payloadUtf8());
        })) {
            Soon.until("all are settled", () -> worker.counts().settled() == 200);
            assertEquals(200, done.size());
            assertTrue(most.get() > 1 && most.get() <= 7, "at once: " + most);
        }
        QueueStats stats = queue.stats();
        assertEquals(200, stats.getSettled());
        assertEquals(0, stats.getRetried() + stats.getReserved() + stats.getDue());
    }

    @Test
    void creditBoundsTheJobsThatAreHeldWhileTheirLeasesAreExtended() throws Exception {
        Queue queue = declared(stadium, "long");
        queue.putAll(jobs(0, 5));
        AtomicInteger firstAttempts = new AtomicInteger();
        CountDownLatch open = new CountDownLatch(1);
        try (Worker worker = stadium.worker("long").concurrency(3).lease(Duration.ofSeconds(1))
                .start(job -> {
                    open.await();
                    firstAttempts.addAndGet(job.attempt() == 1 ? 1 : 0);
                })) {
            Soon.until("as many run as may", () -> queue.stats().getReserved() == 3);
            long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(1_300);
            while (System.nanoTime() < until) {
                assertEquals(3, queue.stats().getReserved());
                Thread.sleep(20);
            }
            open.countDown();
            Soon.until("all are settled", () -> worker.counts().settled() == 5);
        }
        assertEquals(5, firstAttempts.get());
        assertEquals(0, queue.stats().getRetried());
    }

    @Test
    void anExceptionDecidesWhatBecomesOfAJob() throws Exception {
        Queue queue = declared(stadium, "results");
        List<Placed> put = queue.putAll(List.of(NewJob.of("fails"), NewJob.of("bad"),
                NewJob.of("later"), NewJob.of("forwarded"), NewJob.of("fine")));
        Map<String, Integer> attempts = new ConcurrentHashMap<>();
        AsyncJobHandler handler = job -> {
            int attempt = attempts.merge(job.payloadUtf8(), 1, Integer::sum);
            if (job.payloadUtf8().equals("fails") && attempt == 1) {
                throw new IllegalStateException("zu sp\u00e4t\n\ud800" + "x".repeat(2_000));
            }
            if (job.payloadUtf8().equals("bad")) {
                throw new Bury("no such address");
            }
            if (job.payloadUtf8().equals("later") && attempt == 1) {
                return CompletableFuture.failedFuture(
                        new Retry(Duration.ofMillis(50), "not open yet"));
            }
            if (job.payloadUtf8().equals("forwarded")) {
                return queue.async().forward(job.lease(), "results.next", NewJob.of(""))
                        .thenRun(job::markSettled);
            }
            return CompletableFuture.completedFuture(null);
        };
        Worker worker = stadium.worker("results").concurrency(4).startAsync(handler);
        Soon.until("all but one are settled", () -> worker.counts().settled() == 4);
        Soon.until("one is buried", () -> worker.counts().buried() == 1);
        assertEquals(new Drained(new WorkerCounts(4, 2, 1, 0), 0, 0), worker.drain());
        worker.check();
        assertEquals("no such address", queue.find(put.get(1).job()).getReason());
        assertEquals(JobState.JOB_STATE_BURIED, queue.find(put.get(1).job()).getState());
        String reason = released(queue, put.get(0));
        assertTrue(reason.startsWith("java.lang.IllegalStateException: zu sp\u00e4t ?xx"), reason);
        assertEquals("not open yet", released(queue, put.get(2)));
        assertEquals("forwarded",
                Outcome.only(stadium.queue("results.next").reserve(1)).payloadUtf8());
        assertEquals(1, queue.kick(10));
    }

    private static String released(Queue queue, Placed job) {
        return queue.history(job.job()).stream()
                .filter(entry -> entry.getWhat() == HistoryEntry.What.RELEASED)
                .findFirst().orElseThrow().getReason();
    }

    @Test
    void aHandlerWhoseLeaseIsLostIsInterrupted() throws Exception {
        Queue queue = declared(stadium, "lost");
        long job = queue.put("x").job();
        CountDownLatch began = new CountDownLatch(1);
        CompletableFuture<Boolean> lost = new CompletableFuture<>();
        try (Worker worker = stadium.worker("lost").concurrency(1).lease(Duration.ofSeconds(1))
                .start(one -> {
                    assertFalse(Thread.currentThread().isInterrupted());
                    if (one.payloadUtf8().equals("x")) {
                        began.countDown();
                        try {
                            Thread.sleep(60_000);
                        } finally {
                            lost.complete(one.isLost());
                        }
                    }
                })) {
            assertTrue(began.await(Soon.SECONDS, TimeUnit.SECONDS));
            queue.delete(job);
            assertTrue(lost.get(Soon.SECONDS, TimeUnit.SECONDS));
            queue.put("the next one of this thread");
            Soon.until("the next one is settled", () -> worker.counts().settled() == 1);
            assertEquals(new WorkerCounts(1, 0, 0, 1), worker.counts());
        }
    }

    @Test
    void aDrainFinishesWhatRunsAndGivesTheRestBack() throws Exception {
        Queue queue = declared(stadium, "drained");
        queue.putAll(List.of(NewJob.of("quick"), NewJob.of("quick"), NewJob.of("endless")));
        CountDownLatch began = new CountDownLatch(3);
        CountDownLatch ended = new CountDownLatch(1);
        Worker worker = stadium.worker("drained").concurrency(3).lease(Duration.ofSeconds(30))
                .start(job -> {
                    began.countDown();
                    if (job.payloadUtf8().equals("quick")) {
                        Thread.sleep(200);
                        return;
                    }
                    while (!job.isLost()) {
                        Thread.onSpinWait();
                    }
                    ended.countDown();
                });
        assertTrue(began.await(Soon.SECONDS, TimeUnit.SECONDS));
        Drained drained = worker.drain(Duration.ofMillis(1_000));
        assertEquals(1, drained.givenBack());
        assertEquals(new WorkerCounts(2, 1, 0, 0), drained.counts());
        assertEquals(drained, worker.drain());
        QueueStats stats = queue.stats();
        assertEquals(2, stats.getSettled());
        assertEquals(0, stats.getReserved());
        assertTrue(ended.await(Soon.SECONDS, TimeUnit.SECONDS), "the handler sees it");
    }

    @Test
    void anExecutorThatIsFullLosesNoJob() throws Exception {
        Queue queue = declared(stadium, "full");
        queue.putAll(jobs(0, 3));
        AtomicInteger refusals = new AtomicInteger();
        try (Worker worker = stadium.worker("full").executor(task -> {
            if (refusals.incrementAndGet() <= 2) {
                throw new RejectedExecutionException("full");
            }
            new Thread(task).start();
        }).start(job -> { })) {
            Soon.until("all are settled", () -> worker.counts().settled() == 3);
            assertEquals(2, worker.counts().released());
        }
        assertEquals(0, queue.stats().getReserved());
    }

    @Test
    void aKeyThatIsRevokedStopsTheWorkerWithItsError() throws Exception {
        Queue queue = declared(stadium, "revoked-worker");
        TestServer.Key key = server.makeKey("--role", "worker");
        try (Stadium own = server.connect(ApiKey.of(key.secret()))) {
            Worker worker = own.worker("revoked-worker").drainWithin(Duration.ofMillis(200))
                    .start(job -> { });
            queue.put("before");
            Soon.until("the key works", () -> worker.counts().settled() == 1);
            server.revoke(key);
            AtomicBoolean isStopped = new AtomicBoolean();
            Soon.until("the worker stops", () -> {
                // A worker that waits learns of it by the next job.
                queue.put("after");
                isStopped.set(worker.ended().isDone());
                return isStopped.get();
            });
            Rejected refused = assertThrows(Rejected.class, worker::check);
            assertEquals("NODE-009", refused.code());
            assertFalse(refused.getMessage().contains(key.secret()));
            assertThrows(Rejected.class, worker::drain);
            worker.close();
            assertThrows(Rejected.class, () -> own.worker("revoked-worker").run(job -> { }));
        }
        queue.purge(JobState.JOB_STATE_UNSET);
    }

    @Test
    void wrongSettingsAreErrorsAtOnce() {
        WorkerBuilder worker = stadium.worker("q");
        refused(() -> worker.concurrency(0));
        refused(() -> worker.concurrency(1_001));
        refused(() -> worker.lease(Duration.ofMillis(999)));
        refused(() -> worker.settleBatchMax(0));
        refused(() -> worker.settleDelay(Duration.ofMillis(1_001)));
        refused(() -> worker.retry(Duration.ofSeconds(2), Duration.ofSeconds(1)));
        refused(() -> worker.drainWithin(Duration.ofSeconds(-1)));
        refused(() -> worker.name("x".repeat(65)));
        try (Worker started = stadium.worker("q").start(job -> { })) {
            refused(() -> started.drain(Duration.ofDays(200_000)));
        }
        refused(() -> new Retry(Duration.ofSeconds(-1), "x"));
        refused(() -> stadium.worker(""));
        // The server refuses the name.
        assertThrows(Rejected.class, () -> stadium.worker("no/name").run(job -> { }));
    }

    private static void refused(org.junit.jupiter.api.function.Executable wrong) {
        assertThrows(IllegalArgumentException.class, wrong);
    }
}
