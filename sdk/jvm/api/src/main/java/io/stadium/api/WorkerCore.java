package io.stadium.api;

import io.stadium.rpc.DeadlineExceeded;
import io.stadium.rpc.Rejected;
import io.stadium.v1.ReservedJob;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A worker: takes jobs as handlers become free, and gives them back in the end.
 *
 * <p>Its {@link WorkerLoop} alone changes it. {@link WorkerLeases} settles results and extends
 * leases.
 */
final class WorkerCore {
    static final Logger LOG = LoggerFactory.getLogger(Worker.class);

    /** Codes by which the server refuses a key, and so everything. */
    private static final Set<String> REFUSED_KEY =
            Set.of("HTTP-001", "HTTP-002", "HTTP-003", "NODE-009");

    /** The time in which jobs arrive that were asked for just before a stop. */
    private static final long ARRIVE_NANOS = TimeUnit.MILLISECONDS.toNanos(200);

    /** The time beyond its bound that a drain may take to settle. */
    private static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(5);

    /** The time until a job is due again that the executor did not take. */
    private static final Duration EXECUTOR_FULL = Duration.ofSeconds(1);

    final AsyncQueue queue;
    final WorkerSettings settings;
    final WorkerLoop loop;
    final WorkerState state;

    private final Starter starter;
    private final WorkerLeases leases;
    private final Backoff backoff;
    private final CompletableFuture<Drained> ended = new CompletableFuture<>();

    private volatile WorkerCounts counts = new WorkerCounts(0, 0, 0, 0);
    private volatile RuntimeException error;

    private JobStream stream;
    private boolean isOpening;
    private boolean isStopping;
    private boolean hasGivenBack;
    private boolean isSettlingLast;
    private int givenBack;
    private ScheduledFuture<?> handlersEnd;

    /** Runs the handler of a job, and calls {@link #finish} in the end, on any thread. */
    interface Starter {
        void start(WorkerCore core, HeldJob job);

        /** The worker has ended. */
        void end();
    }

    WorkerCore(AsyncQueue queue, WorkerSettings settings, Starter starter) {
        this.queue = queue;
        this.settings = settings;
        this.starter = starter;
        loop = new WorkerLoop(queue.name());
        state = new WorkerState(settings.concurrency(), settings.settleBatchMax(),
                settings.settleDelay().toNanos(), settings.lease().toNanos());
        leases = new WorkerLeases(this);
        backoff = new Backoff(settings.retryMin().toNanos(), settings.retryMax().toNanos());
    }

    void start() {
        loop.execute(this::open);
    }

    CompletableFuture<Drained> ended() {
        return ended;
    }

    WorkerCounts counts() {
        return counts;
    }

    RuntimeException error() {
        return error;
    }

    boolean isStopping() {
        return isStopping;
    }

    /** Opens the stream where a job could begin. */
    private void open() {
        isOpening = false;
        if (isStopping || stream != null) {
            return;
        }
        int credit = state.takeCredit();
        if (credit == 0) {
            return;
        }
        JobStream opened = new JobStream(this);
        stream = opened;
        try {
            opened.open(credit);
        } catch (RuntimeException e) {
            // The source of the key has never had one, or the arguments are wrong.
            stream = null;
            fail(e);
        }
    }

    /** Asks for as many jobs as may begin. */
    void giveCredit() {
        counts = state.counts();
        if (isStopping) {
            return;
        }
        if (stream == null) {
            if (!isOpening) {
                open();
            }
            return;
        }
        int credit = state.takeCredit();
        if (credit > 0) {
            stream.request(credit);
        }
    }

    /** A job has come. */
    void took(ReservedJob message) {
        HeldJob job = state.begin(message, WorkerLoop.now());
        backoff.reset();
        if (isStopping) {
            finished(job, JobResult.released(
                    Due.notTried(Duration.ZERO), "the worker was drained"));
            if (state.creditOut() == 0) {
                closeStream();
            }
            return;
        }
        leases.arm();
        starter.start(this, job);
    }

    /** A handler has ended. From any thread. */
    void finish(HeldJob job, JobResult result) {
        loop.execute(() -> finished(job, result));
    }

    /** The executor does not take a handler. */
    void refused(HeldJob job, Throwable why) {
        LOG.warn("Executor refused a job: queue={} error={}", queue.name(), why.toString());
        finish(job, JobResult.released(Due.notTried(EXECUTOR_FULL), "the executor is full"));
    }

    private void finished(HeldJob job, JobResult result) {
        state.finish(job, result, WorkerLoop.now());
        giveCredit();
        leases.arm();
        goOnDraining();
    }

    /** The stream has ended. */
    void streamEnded(JobStream its, Throwable failure) {
        if (stream != its) {
            return;
        }
        stream = null;
        state.loseCredit();
        if (isStopping) {
            goOnDraining();
        } else if (failure instanceof DeadlineExceeded) {
            // The time of the stream is over.
            open();
        } else if (failure instanceof Rejected rejected && !goesOn(rejected)) {
            fail(rejected);
        } else {
            long wait = backoff.next(failure);
            LOG.info("Stream of jobs is opened again: queue={} in={}ms error={}", queue.name(),
                    TimeUnit.NANOSECONDS.toMillis(wait), String.valueOf(failure));
            isOpening = true;
            loop.at(WorkerLoop.now() + wait, this::open);
        }
    }

    /** True where the key was just rotated: a call had the old one, and may be made again. */
    boolean goesOn(Rejected rejected) {
        return isOfKey(rejected) && queue.calls().key().hasChangedJustNow();
    }

    static boolean isOfKey(Rejected rejected) {
        return REFUSED_KEY.contains(rejected.code());
    }

    /** Stops because of an error that no repeat mends. */
    void fail(RuntimeException why) {
        if (error == null) {
            error = why;
            LOG.error("Worker stops: queue={} error={}", queue.name(), why.toString());
        }
        stop(settings.drainWithin());
    }

    /** Takes nothing new, and ends when handlers have ended or the time is over. Any thread. */
    void drain(Duration within) {
        loop.execute(() -> stop(within));
    }

    private void stop(Duration within) {
        long until = WorkerLoop.now() + within.toNanos();
        if (handlersEnd == null || handlersEnd.getDelay(TimeUnit.NANOSECONDS) > within.toNanos()) {
            if (handlersEnd != null) {
                handlersEnd.cancel(false);
            }
            handlersEnd = loop.at(until, this::giveBack);
        }
        if (isStopping) {
            return;
        }
        isStopping = true;
        if (stream != null && state.creditOut() > 0 && error == null) {
            // Where the queue has jobs, those that were asked for come at once; they go back.
            loop.at(WorkerLoop.now() + ARRIVE_NANOS, this::closeStream);
        } else {
            closeStream();
        }
    }

    private void closeStream() {
        if (stream != null) {
            stream.cancel();
            stream = null;
            state.loseCredit();
        }
        goOnDraining();
    }

    private void giveBack() {
        hasGivenBack = true;
        givenBack = state.giveBack(WorkerLoop.now());
        closeStream();
    }

    /** Looks whether the next step of a drain can be done. */
    void goOnDraining() {
        counts = state.counts();
        if (!isStopping || ended.isDone()) {
            return;
        }
        leases.arm();
        boolean isIdle = stream == null && (state.running() == 0 || hasGivenBack);
        if (!isIdle) {
            return;
        }
        if (state.unconfirmed() == 0 || error != null) {
            end();
        } else if (!isSettlingLast) {
            isSettlingLast = true;
            loop.at(WorkerLoop.now() + SETTLE_NANOS, this::end);
        }
    }

    private void end() {
        if (ended.isDone()) {
            return;
        }
        leases.cancel();
        loop.end();
        starter.end();
        counts = state.counts();
        Drained drained = new Drained(counts, givenBack, state.unconfirmed());
        LOG.info("Worker ended: queue={} {}", queue.name(), drained);
        if (error == null) {
            ended.complete(drained);
        } else {
            ended.completeExceptionally(error);
        }
    }
}
