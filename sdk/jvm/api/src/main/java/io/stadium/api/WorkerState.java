package io.stadium.api;

import io.stadium.v1.ReservedJob;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The jobs that a worker holds, the credit that it gave, and the results that wait to be settled.
 *
 * <p>It has no thread and no connection, and every method takes the time, in nanoseconds. Jobs that
 * run and credit that is out are never more than the concurrency.
 */
final class WorkerState {
    /**
     * Results that may wait to be settled before no more jobs are taken. A crash loses so many
     * results, and their jobs are done again.
     */
    static final int RESULTS_MAX = 1_000;

    /** No time at which something is to be done. */
    static final long NEVER = Long.MAX_VALUE;

    /** A job whose handler has ended. It is not sent before {@code at}. */
    record Finished(HeldJob job, JobResult result, long at) {}

    private final int concurrency;
    private final int batchMax;
    private final long batchDelay;
    private final long lease;

    private int running;
    private int creditOut;
    private int sending;
    private final Map<Lease, HeldJob> held = new LinkedHashMap<>();
    private final ArrayDeque<Finished> results = new ArrayDeque<>();
    private long settled;
    private long released;
    private long buried;
    private long lost;

    WorkerState(int concurrency, int batchMax, long batchDelay, long lease) {
        this.concurrency = concurrency;
        this.batchMax = batchMax;
        this.batchDelay = batchDelay;
        this.lease = lease;
    }

    /** Jobs that may be asked for now. They count as asked for. */
    int takeCredit() {
        int room = concurrency - running - creditOut;
        if (results.size() + sending >= RESULTS_MAX || room <= 0) {
            return 0;
        }
        creditOut += room;
        return room;
    }

    /** The stream has ended: the jobs that were asked for do not come. */
    void loseCredit() {
        creditOut = 0;
    }

    /** A job has come. */
    HeldJob begin(ReservedJob message, long now) {
        HeldJob job = new HeldJob(message, now);
        creditOut = Math.max(0, creditOut - 1);
        job.isRunning = true;
        running++;
        held.put(job.job.lease(), job);
        return job;
    }

    /** Its handler has ended. */
    void finish(HeldJob job, JobResult result, long now) {
        if (!job.isRunning) {
            return;
        }
        job.isRunning = false;
        running--;
        if (job.job.isSettled() || job.job.isLost()) {
            settled += job.job.isSettled() ? 1 : 0;
            lost += job.job.isSettled() ? 0 : 1;
            held.remove(job.job.lease());
            return;
        }
        boolean mayWait = result.kind() == JobResult.Kind.SETTLE;
        results.add(new Finished(job, result, mayWait ? now + batchDelay : now));
    }

    /** Gives the jobs back whose handlers have not ended. Their results do not count any more. */
    int giveBack(long now) {
        int given = 0;
        for (HeldJob job : List.copyOf(held.values())) {
            if (!job.isRunning) {
                continue;
            }
            job.isRunning = false;
            running--;
            if (job.job.isSettled() || job.job.isLost()) {
                settled += job.job.isSettled() ? 1 : 0;
                lost += job.job.isSettled() ? 0 : 1;
                held.remove(job.job.lease());
                continue;
            }
            given++;
            job.lose();
            results.add(new Finished(job, JobResult.released(
                    Due.after(Duration.ZERO), "the worker was drained"), now));
        }
        return given;
    }

    /** When the next results are to be sent. */
    long resultsAt() {
        if (results.size() >= batchMax) {
            return Long.MIN_VALUE;
        }
        return results.stream().mapToLong(Finished::at).min().orElse(NEVER);
    }

    /** The results of a batch. Where one is due, those that are not yet go with it. */
    List<Finished> takeResults() {
        List<Finished> batch = new ArrayList<>();
        while (!results.isEmpty() && batch.size() < batchMax) {
            batch.add(results.poll());
        }
        sending += batch.size();
        return batch;
    }

    /** The server has this result. */
    void settled(Finished finished) {
        forget(finished);
        switch (finished.result().kind()) {
            case SETTLE -> settled++;
            case RELEASE -> released++;
            default -> buried++;
        }
    }

    /** The server will never take this result. */
    void lost(Finished finished) {
        forget(finished);
        lost++;
    }

    private void forget(Finished finished) {
        sending--;
        held.remove(finished.job().job.lease());
    }

    /** The result is to be sent again. */
    void again(Finished finished, long at) {
        sending--;
        results.add(new Finished(finished.job(), finished.result(), at));
    }

    /** Jobs whose leases are to be extended: a third of the time is over. */
    List<HeldJob> toExtend(long now) {
        return held.values().stream()
                .filter(job -> needsLease(job) && extendAt(job) <= now)
                .limit(Bounds.ITEMS_MAX).toList();
    }

    /** When the next lease is to be extended. */
    long extendAt() {
        return held.values().stream().filter(WorkerState::needsLease)
                .mapToLong(this::extendAt).min().orElse(NEVER);
    }

    private static boolean needsLease(HeldJob job) {
        return !job.job.isLost() && !job.job.isSettled();
    }

    private long extendAt(HeldJob job) {
        return job.leasedAt + lease / 3;
    }

    int running() {
        return running;
    }

    int creditOut() {
        return creditOut;
    }

    /** Results that the server has not confirmed. */
    int unconfirmed() {
        return results.size() + sending;
    }

    WorkerCounts counts() {
        return new WorkerCounts(settled, released, buried, lost);
    }
}
