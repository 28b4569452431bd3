package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import io.stadium.rpc.Busy;
import io.stadium.rpc.Rejected;
import io.stadium.v1.Cron;
import io.stadium.v1.EditRequest;
import io.stadium.v1.JobState;
import io.stadium.v1.PeekRequest;
import io.stadium.v1.QueueSettings;
import io.stadium.v1.QueueStats;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Queues of the real server. */
@Timeout(120)
class QueueTest {
    private static Stadium stadium;

    @BeforeAll
    static void connect() throws Exception {
        stadium = TestServer.shared().connect();
    }

    @AfterAll
    static void close() {
        if (stadium != null) {
            stadium.close();
        }
    }

    @Test
    void aJobGoesThroughItsLife() {
        Queue queue = stadium.queue("life");
        Placed put = queue.put(NewJob.of("one").key("user-1").priority(9).attemptsMax(3));
        Job job = Outcome.only(queue.reserve(ReserveOptions.upTo(1).lease(Duration.ofSeconds(30))
                .waiting(Duration.ofSeconds(1)).worker("test")));
        assertEquals(put.job(), job.id());
        assertEquals("one user-1 9 1",
                job.payloadUtf8() + " " + job.key() + " " + job.priority() + " " + job.attempt());
        assertTrue(Math.abs(Duration.between(job.putAt(), Instant.now()).toSeconds()) < 20);
        assertTrue(Math.abs(Duration.between(job.putAt(), job.leaseUntil()).toSeconds() - 30) < 20);
        assertFalse(job.dueAt().isBefore(job.putAt()));
        assertEquals(JobStatus.DONE, queue.extend(job.lease(), Duration.ofMinutes(1)));
        assertEquals(JobStatus.DONE,
                queue.release(job.lease(), Due.after(Duration.ZERO), "not now"));
        job = Outcome.only(queue.reserve(1));
        assertEquals(2, job.attempt());
        assertEquals(JobStatus.DONE, queue.bury(job.lease(), "look at it"));
        assertEquals("look at it",
                Outcome.only(queue.peek(10, JobState.JOB_STATE_BURIED)).getReason());
        assertEquals(1, queue.kick(List.of(put.job())));
        job = Outcome.only(queue.reserve(1));
        int attempt = job.attempt();
        assertEquals(JobStatus.DONE, queue.release(job.lease(), Due.notTried(Duration.ZERO), ""));
        Job again = Outcome.only(queue.reserve(1));
        assertEquals(attempt, again.attempt());
        assertEquals(JobStatus.DONE, queue.settle(again.lease()));
        assertEquals(JobStatus.ALREADY, queue.settle(again.lease()));
        Outcome<JobStatus> lost =
                Outcome.only(queue.extendAll(List.of(again.lease()), Duration.ofSeconds(5)));
        assertInstanceOf(Rejected.class, lost.error().orElseThrow());
        assertTrue(Soon.code(lost::get).startsWith("QUE-"));
        Lease older = job.lease();
        assertTrue(Soon.code(() -> queue.bury(older, "")).startsWith("QUE-"));
        assertTrue(queue.reserve(1).isEmpty());
        assertTrue(queue.history(put.job()).size() >= 8);
    }

    @Test
    void manyJobsArePutAtOnceAndEachOnlyOnce() {
        Queue queue = stadium.queue("many-at-once");
        List<NewJob> jobs = new ArrayList<>();
        for (int nth = 0; nth < 600; nth++) {
            jobs.add(NewJob.of("" + nth).dedupId("id-" + nth).dedupWindow(Duration.ofMinutes(1)));
        }
        List<Placed> first = queue.putAll(jobs);
        List<Placed> second = queue.putAll(List.of(jobs.get(0), jobs.get(1), NewJob.of("more")));
        assertTrue(first.stream().noneMatch(Placed::isDuplicate));
        assertEquals(List.of(true, true, false), second.stream().map(Placed::isDuplicate).toList());
        assertEquals(first.get(1).job(), second.get(1).job());
        assertEquals("QUE-024", Soon.code(() -> queue.put(
                NewJob.of("other").dedupId("id-1").dedupWindow(Duration.ofMinutes(1)))));
        assertEquals(601, queue.stats().getDue());
        assertEquals(601, queue.purge(JobState.JOB_STATE_DUE));
    }

    @Test
    void jobsAreDueInTimeAndAreEditedForwardedAndDeleted() {
        Queue queue = stadium.queue("in-time");
        Instant inAnHour = Instant.now().plus(Duration.ofHours(1)).truncatedTo(ChronoUnit.MILLIS);
        long later = queue.put(NewJob.of("later").runAt(inAnHour)).job();
        long soon = queue.put(NewJob.of("soon").delay(Duration.ofMillis(100))).job();
        assertEquals(inAnHour.toEpochMilli(), queue.find(later).getDueMs());
        Job job = Outcome.only(queue.reserve(
                ReserveOptions.upTo(5).waiting(Duration.ofSeconds(5))));
        assertEquals(soon, job.id());
        queue.edit(EditRequest.newBuilder().setJob(later).setDelayMs(0)
                .setPayload(ByteString.copyFromUtf8("now")).build());
        Job edited = Outcome.only(queue.reserve(1));
        assertEquals("now", edited.payloadUtf8());
        Queue next = stadium.queue("in-time.next");
        queue.forward(edited.lease(), next.name(), NewJob.of("").priority(7));
        assertEquals("now", Outcome.only(next.peek(PeekRequest.getDefaultInstance()))
                .getPayload().toStringUtf8());
        Outcome<JobStatus> gone = Outcome.only(queue.deleteAll(List.of(soon)));
        assertEquals(JobStatus.DONE, gone.get());
        assertThrows(Rejected.class, () -> queue.find(soon));
    }

    @Test
    void aQueueIsDeclaredPausedScheduledAndDropped() throws Exception {
        Queue queue = stadium.queue("declared");
        queue.declare(QueueSettings.newBuilder().setLeaseMs(12_000).setAttemptsMax(1).setJobsMax(3)
                .build());
        assertEquals(12_000, queue.stats().getSettings().getLeaseMs());
        queue.putAll(List.of(NewJob.of("a"), NewJob.of("b"), NewJob.of("c")));
        Busy full = assertThrows(Busy.class, () -> queue.put("d"));
        assertFalse(full.mayHaveHappened());
        queue.pause();
        assertTrue(queue.reserve(1).isEmpty() && queue.stats().getPaused());
        queue.resume();
        Job job = Outcome.only(queue.reserve(1));
        assertEquals(JobStatus.DEAD, queue.release(job.lease(), Due.afterBackoff(), "no"));
        assertEquals(1, queue.redrive(5, ""));
        queue.schedule("nightly", Cron.newBuilder().setExpression("0 3 * * *")
                .setTimeZone("Europe/Berlin").setMissed(Cron.Missed.SKIP).build(),
                NewJob.of("clean"));
        assertEquals("Europe/Berlin",
                Outcome.only(queue.schedules()).getCron().getTimeZone());
        queue.unschedule("nightly");
        assertTrue(queue.schedules().isEmpty());
        assertTrue(names().contains("declared"));
        assertThrows(Rejected.class, queue::drop);
        queue.purge(JobState.JOB_STATE_UNSET);
        queue.drop();
        Soon.until("the queue is gone", () -> !names().contains("declared"));
    }

    private static List<String> names() {
        return stadium.queues(1_000, "").stream().map(QueueStats::getQueue).toList();
    }

    @Test
    void futuresDoTheSameAndAreCancelled() throws Exception {
        AsyncQueue queue = stadium.queue("futures").async();
        List<CompletableFuture<Placed>> puts = new ArrayList<>();
        for (int nth = 0; nth < 50; nth++) {
            puts.add(queue.put("" + nth));
        }
        CompletableFuture.allOf(puts.toArray(CompletableFuture<?>[]::new))
                .get(Soon.SECONDS, TimeUnit.SECONDS);
        List<Job> jobs = queue.reserve(50).get(Soon.SECONDS, TimeUnit.SECONDS);
        List<Outcome<JobStatus>> settled = queue
                .settleAll(jobs.stream().map(Job::lease).toList())
                .get(Soon.SECONDS, TimeUnit.SECONDS);
        assertEquals(Collections.nCopies(50, JobStatus.DONE),
                settled.stream().map(Outcome::get).toList());
        ReserveOptions patient = ReserveOptions.upTo(1).waiting(Duration.ofSeconds(20));
        CompletableFuture<List<Job>> cancelled = queue.reserve(patient);
        Soon.until("it waits", () -> queue.stats().get().getWaiting() == 1);
        assertTrue(cancelled.cancel(true));
        Soon.until("nobody waits", () -> queue.stats().get().getWaiting() == 0);
        CompletableFuture<List<Job>> waits = queue.reserve(patient);
        queue.put("late");
        assertEquals("late",
                waits.get(Soon.SECONDS, TimeUnit.SECONDS).get(0).payloadUtf8());
    }

    @Test
    void wrongUseIsRefusedBeforeAnythingIsSent() {
        Queue queue = stadium.queue("wrong");
        NewJob job = NewJob.of("x");
        refused(() -> job.delay(Duration.ofSeconds(1)).runAt(Instant.now()));
        refused(() -> job.runAt(Instant.now()).delay(Duration.ofSeconds(1)));
        refused(() -> job.delay(Duration.ofMillis(-1)));
        refused(() -> job.priority(10));
        refused(() -> queue.putAll(List.of()));
        refused(() -> queue.putAll(Collections.nCopies(1_001, job)));
        refused(() -> queue.settleAll(List.of()));
        refused(() -> ReserveOptions.upTo(0));
        refused(() -> ReserveOptions.upTo(1).waiting(Duration.ofSeconds(-1)));
        refused(() -> queue.kick(0));
        refused(() -> queue.peek(1_001, JobState.JOB_STATE_UNSET));
        refused(() -> stadium.queue(""));
        assertEquals("NODE-010", Soon.code(() -> stadium.queue("no/name").put("x")));
        assertThrows(Rejected.class, queue::stats);
    }

    private static void refused(org.junit.jupiter.api.function.Executable wrong) {
        assertThrows(IllegalArgumentException.class, wrong);
    }
}
