package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.v1.ReservedJob;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The rules of a worker, by a clock of their own. */
class WorkerStateTest {
    private final WorkerState state = new WorkerState(3, 2, 5, 90);

    private HeldJob begin(long id, long now) {
        return state.begin(ReservedJob.newBuilder().setJob(id).setReservation(1).build(), now);
    }

    @Test
    void jobsThatRunAndCreditThatIsOutAreNeverMoreThanTheConcurrency() {
        assertEquals(3, state.takeCredit());
        assertEquals(0, state.takeCredit());
        HeldJob job = begin(1, 0);
        assertEquals(0, state.takeCredit());
        state.finish(job, JobResult.SETTLED, 1);
        assertEquals(1, state.takeCredit());
        state.loseCredit();
        assertEquals(3, state.takeCredit());
    }

    @Test
    void noJobIsAskedForWhileVeryManyResultsWait() {
        List<HeldJob> jobs = new ArrayList<>();
        for (int nth = 0; nth < WorkerState.RESULTS_MAX; nth++) {
            state.takeCredit();
            jobs.add(begin(nth, 0));
            state.finish(jobs.get(nth), JobResult.SETTLED, 0);
        }
        state.loseCredit();
        assertEquals(0, state.takeCredit());
        List<WorkerState.Finished> batch = state.takeResults();
        assertEquals(0, state.takeCredit(), "they are on their way, not settled");
        batch.forEach(state::settled);
        assertEquals(3, state.takeCredit());
    }

    @Test
    void aBatchGoesWhenItIsFullOrItsFirstResultHasWaited() {
        assertEquals(WorkerState.NEVER, state.resultsAt());
        state.finish(begin(1, 0), JobResult.SETTLED, 10);
        assertEquals(15, state.resultsAt());
        state.finish(begin(2, 0), JobResult.SETTLED, 11);
        assertEquals(Long.MIN_VALUE, state.resultsAt());
        state.finish(begin(3, 0), JobResult.released(Due.afterBackoff(), "x"), 12);
        assertEquals(2, state.takeResults().size());
        assertEquals(12, state.resultsAt(), "a failure does not wait");
    }

    @Test
    void aResultThatWasNotTakenIsSentAgain() {
        state.finish(begin(1, 0), JobResult.SETTLED, 0);
        state.again(state.takeResults().get(0), 40);
        assertEquals(40, state.resultsAt());
        assertEquals(1, state.unconfirmed());
        state.settled(state.takeResults().get(0));
        assertEquals(new WorkerCounts(1, 0, 0, 0), state.counts());
        assertEquals(0, state.unconfirmed());
    }

    @Test
    void leasesAreExtendedAfterAThirdOfTheirTimeUntilTheResultIsSettled() {
        assertEquals(WorkerState.NEVER, state.extendAt());
        HeldJob job = begin(1, 0);
        begin(2, 10);
        assertEquals(30, state.extendAt());
        assertEquals(List.of(job), state.toExtend(30));
        job.leasedAt = 30;
        assertEquals(40, state.extendAt());
        state.finish(job, JobResult.SETTLED, 31);
        assertEquals(2, state.toExtend(60).size());
        state.settled(state.takeResults().get(0));
        assertEquals(1, state.toExtend(60).size());
    }

    @Test
    void aDrainGivesBackTheJobsThatRunAndTheirResultsDoNotCount() {
        HeldJob runs = begin(1, 0);
        HeldJob done = begin(2, 0);
        HeldJob lost = begin(3, 0);
        state.finish(done, JobResult.SETTLED, 0);
        lost.lose();
        assertEquals(1, state.giveBack(5));
        assertTrue(runs.job.isLost());
        assertEquals(0, state.running());
        state.finish(runs, JobResult.SETTLED, 6);
        List<WorkerState.Finished> results = state.takeResults();
        assertEquals(List.of(JobResult.Kind.SETTLE, JobResult.Kind.RELEASE),
                results.stream().map(result -> result.result().kind()).toList());
        results.forEach(state::settled);
        assertEquals(new WorkerCounts(1, 1, 0, 1), state.counts());
    }

    @Test
    void aJobThatItsHandlerSettledIsLeftAlone() {
        HeldJob job = begin(1, 0);
        job.job.markSettled();
        assertTrue(state.toExtend(1_000).isEmpty());
        state.finish(job, JobResult.SETTLED, 0);
        assertEquals(0, state.unconfirmed());
        assertEquals(1, state.counts().settled());
    }

    @Test
    void anInterruptionReachesOneHandlerOnly() {
        HeldJob job = begin(1, 0);
        job.begin();
        job.lose();
        assertTrue(Thread.currentThread().isInterrupted());
        job.end();
        assertFalse(Thread.currentThread().isInterrupted());
        HeldJob late = begin(2, 0);
        late.lose();
        late.begin();
        assertTrue(Thread.interrupted());
        late.end();
    }

    @Test
    void aReasonFitsTheHistory() {
        assertEquals("a b\u00e4?", Reason.of("a\nb\u00e4\ud800"));
        assertEquals(1_024, Reason.of("x".repeat(2_000)).length());
        assertEquals(512, Reason.of("\u00e4".repeat(1_000)).length());
        String smiles = Reason.of("\ud83d\ude00".repeat(300));
        assertEquals(256, smiles.codePointCount(0, smiles.length()));
    }
}
