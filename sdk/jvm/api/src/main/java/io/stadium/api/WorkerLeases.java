package io.stadium.api;

import io.stadium.rpc.Rejected;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.function.Supplier;

/**
 * The leases of a worker: extended while their jobs are held, and ended in batches. One batch and
 * one extension is under way at a time. Results are sent again until the server has them.
 */
final class WorkerLeases {
    private final WorkerCore core;
    private final WorkerState state;
    private final Backoff backoff;
    private final Set<CompletableFuture<?>> calls = new HashSet<>();

    private ScheduledFuture<?> settleTimer;
    private long settleAt = WorkerState.NEVER;

    /** After a failure nothing is sent before this time. */
    private long pausedUntil = Long.MIN_VALUE;

    /** Requests of the batch that are not answered. */
    private int unanswered;

    /** The reason to send results of the batch again; {@code null} where there is none. */
    private Throwable again;

    private ScheduledFuture<?> extendTimer;

    WorkerLeases(WorkerCore core) {
        this.core = core;
        state = core.state;
        backoff = new Backoff(core.settings.retryMin().toNanos(),
                core.settings.retryMax().toNanos());
    }

    /** Sets the timers, after results or jobs have come. */
    void arm() {
        armSettle();
        armExtend();
    }

    void cancel() {
        List.copyOf(calls).forEach(call -> call.cancel(false));
    }

    private void armSettle() {
        long at = state.resultsAt();
        if (unanswered > 0 || at == WorkerState.NEVER) {
            return;
        }
        long now = WorkerLoop.now();
        at = Math.max(core.isStopping() ? Long.MIN_VALUE : at, pausedUntil);
        if (at <= now) {
            settle();
        } else if (settleTimer == null || at < settleAt) {
            if (settleTimer != null) {
                settleTimer.cancel(false);
            }
            settleAt = at;
            settleTimer = core.loop.at(at, () -> {
                settleTimer = null;
                armSettle();
            });
        }
    }

    /** Sends results: one request for each kind, all at once. */
    private void settle() {
        Map<JobResult, List<WorkerState.Finished>> groups = new LinkedHashMap<>();
        for (WorkerState.Finished finished : state.takeResults()) {
            groups.computeIfAbsent(finished.result(), result -> new ArrayList<>()).add(finished);
        }
        unanswered = groups.size();
        again = null;
        groups.forEach((result, group) -> {
            List<Lease> leases = group.stream().map(one -> one.job().job.lease()).toList();
            call(() -> switch (result.kind()) {
                case SETTLE -> core.queue.settleAll(leases);
                case RELEASE -> core.queue.releaseAll(leases, result.due(), result.text());
                case BURY -> core.queue.buryAll(leases, result.text());
            }, (outcomes, failure) -> answered(group, outcomes, failure));
        });
    }

    /** Takes the end of a call: one of the two is {@code null}. */
    private interface Answer {
        void given(List<Outcome<JobStatus>> outcomes, Throwable failure);
    }

    private void call(
            Supplier<CompletableFuture<List<Outcome<JobStatus>>>> send,
            Answer answer) {
        CompletableFuture<List<Outcome<JobStatus>>> call;
        try {
            call = send.get();
        } catch (RuntimeException e) {
            core.loop.execute(() -> answer.given(null, e));
            return;
        }
        calls.add(call);
        call.whenComplete((outcomes, failure) -> core.loop.execute(() -> {
            calls.remove(call);
            answer.given(outcomes, failure);
        }));
    }

    private void answered(
            List<WorkerState.Finished> group, List<Outcome<JobStatus>> outcomes,
            Throwable failure) {
        boolean isRefused = failure instanceof Rejected rejected && isRefused(rejected);
        if (failure != null && !isRefused) {
            WorkerCore.LOG.info("Results are sent again: queue={} error={}",
                    core.queue.name(), failure.toString());
        }
        long now = WorkerLoop.now();
        for (int nth = 0; nth < group.size(); nth++) {
            WorkerState.Finished finished = group.get(nth);
            Throwable why = failure != null ? failure : outcomes.get(nth).error().orElse(null);
            if (why == null) {
                state.settled(finished);
            } else if (isRefused || failure == null && why instanceof Rejected) {
                state.lost(finished);
            } else {
                state.again(finished, now);
                again = why;
            }
        }
        unanswered--;
        if (unanswered == 0) {
            if (again == null) {
                backoff.reset();
            } else {
                pausedUntil = now + backoff.next(again);
            }
        }
        core.giveCredit();
        arm();
        core.goOnDraining();
    }

    /** Returns false where a repeat may help. A refusal of the key stops the worker. */
    private boolean isRefused(Rejected rejected) {
        if (core.goesOn(rejected)) {
            return false;
        }
        if (WorkerCore.isOfKey(rejected)) {
            core.fail(rejected);
        } else {
            WorkerCore.LOG.error("Results were refused: queue={} error={}",
                    core.queue.name(), rejected.getMessage());
        }
        return true;
    }

    private void armExtend() {
        if (extendTimer != null) {
            return;
        }
        long at = state.extendAt();
        if (at != WorkerState.NEVER) {
            extendTimer = core.loop.at(at, this::extend);
        }
    }

    private void extend() {
        long now = WorkerLoop.now();
        List<HeldJob> jobs = state.toExtend(now);
        if (jobs.isEmpty()) {
            extendTimer = null;
            armExtend();
            return;
        }
        List<Lease> leases = jobs.stream().map(job -> job.job.lease()).toList();
        call(() -> core.queue.extendAll(leases, core.settings.lease()),
                (outcomes, failure) -> extended(jobs, now, outcomes, failure));
    }

    private void extended(
            List<HeldJob> jobs, long sentAt, List<Outcome<JobStatus>> outcomes,
            Throwable failure) {
        extendTimer = null;
        boolean isExtended = failure == null;
        if (failure instanceof Rejected rejected && WorkerCore.isOfKey(rejected)
                && !core.goesOn(rejected)) {
            core.fail(rejected);
        } else if (failure != null) {
            WorkerCore.LOG.info("Leases are extended later: queue={} error={}",
                    core.queue.name(), failure.toString());
        }
        for (int nth = 0; outcomes != null && nth < jobs.size(); nth++) {
            Throwable why = outcomes.get(nth).error().orElse(null);
            if (why == null) {
                jobs.get(nth).leasedAt = sentAt;
            } else if (why instanceof Rejected) {
                jobs.get(nth).lose();
            } else {
                isExtended = false;
            }
        }
        if (isExtended) {
            armExtend();
        } else {
            extendTimer = core.loop.at(
                    WorkerLoop.now() + core.settings.retryMin().toNanos(), this::extend);
        }
    }
}
