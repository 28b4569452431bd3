package io.stadium.api;

import io.stadium.rpc.Method;
import io.stadium.rpc.client.CallOptions;
import io.stadium.v1.BuryRequest;
import io.stadium.v1.Counted;
import io.stadium.v1.Cron;
import io.stadium.v1.DeclareRequest;
import io.stadium.v1.DeleteRequest;
import io.stadium.v1.EditRequest;
import io.stadium.v1.ExtendRequest;
import io.stadium.v1.ForwardRequest;
import io.stadium.v1.HistoryEntry;
import io.stadium.v1.JobNamed;
import io.stadium.v1.JobState;
import io.stadium.v1.KickRequest;
import io.stadium.v1.Outcomes;
import io.stadium.v1.PeekRequest;
import io.stadium.v1.PurgeRequest;
import io.stadium.v1.PutRequest;
import io.stadium.v1.QueueMethods;
import io.stadium.v1.QueueNamed;
import io.stadium.v1.QueueSettings;
import io.stadium.v1.QueueStats;
import io.stadium.v1.RedriveRequest;
import io.stadium.v1.ReleaseRequest;
import io.stadium.v1.ReserveRequest;
import io.stadium.v1.ScheduleList;
import io.stadium.v1.ScheduleRequest;
import io.stadium.v1.ScheduleView;
import io.stadium.v1.SettleRequest;
import io.stadium.v1.UnscheduleRequest;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * A queue, by its name. docs/queue.md describes each command, its bounds and its guarantees. A
 * program that works on jobs uses a {@link Worker}.
 */
public final class AsyncQueue {
    /** The time beyond its wait that a reservation may take. */
    private static final Duration BEYOND_THE_WAIT = Duration.ofSeconds(5);

    private final Calls calls;
    private final String name;
    private final QueueNamed named;

    AsyncQueue(Calls calls, String name) {
        this.calls = calls;
        this.name = Objects.requireNonNull(name, "name");
        if (name.isEmpty()) {
            throw new IllegalArgumentException("a queue has a name");
        }
        named = QueueNamed.newBuilder().setQueue(name).build();
    }

    Calls calls() {
        return calls;
    }

    /**
     * The queue's name.
     *
     * @return the name
     */
    public String name() {
        return name;
    }

    /**
     * Puts a job, which is on disk then. Makes the queue where there is none.
     *
     * @param job the job
     * @return its id
     */
    public CompletableFuture<Placed> put(NewJob job) {
        return place(List.of(job), Outcome::only);
    }

    /**
     * Puts a job, which is on disk then. Makes the queue where there is none.
     *
     * @param payload for the worker
     * @return its id
     */
    public CompletableFuture<Placed> put(byte[] payload) {
        return put(NewJob.of(payload));
    }

    /**
     * Puts a job, which is on disk then. Makes the queue where there is none.
     *
     * @param payload a text, which the worker gets in UTF-8
     * @return its id
     */
    public CompletableFuture<Placed> put(String payload) {
        return put(NewJob.of(payload));
    }

    /**
     * Puts jobs, all or none.
     *
     * @param jobs 1 to 1,000
     * @return their ids, in their order
     */
    public CompletableFuture<List<Placed>> putAll(List<NewJob> jobs) {
        return place(Bounds.items("jobs", jobs), placed -> placed);
    }

    private <T> CompletableFuture<T> place(
            List<NewJob> jobs, Function<List<Placed>, T> convert) {
        PutRequest.Builder request = PutRequest.newBuilder().setQueue(name);
        jobs.forEach(job -> request.addJobs(job.message()));
        // With dedup ids the put has the effect of one however often it is sent.
        boolean mayRepeat = jobs.stream().noneMatch(job -> job.message().getDedupId().isEmpty());
        return calls.call(mayRepeat ? QueueMethods.PUT.idempotent() : QueueMethods.PUT,
                request.build(), answer -> convert.apply(Placed.of(answer, jobs.size())));
    }

    /**
     * Reserves jobs that are due, for the queue's lease.
     *
     * @param jobsMax 1 to 1,000
     * @return the jobs; none where none is due
     */
    public CompletableFuture<List<Job>> reserve(int jobsMax) {
        return reserve(ReserveOptions.upTo(jobsMax));
    }

    /**
     * Reserves jobs that are due.
     *
     * @param options how many, how long to wait for a first one, the lease
     * @return the jobs; none where none was due in time
     */
    public CompletableFuture<List<Job>> reserve(ReserveOptions options) {
        ReserveRequest request = ReserveRequest.newBuilder()
                .setQueue(name).setJobsMax(options.jobsMax())
                .setWaitMs(Times.millis("wait", options.waiting()))
                .setLeaseMs(Times.millis("lease", options.lease()))
                .setWorker(options.worker()).build();
        CallOptions bounded = options.waiting().isZero() ? CallOptions.DEFAULT
                : CallOptions.DEFAULT.deadline(options.waiting().plus(BEYOND_THE_WAIT));
        return calls.call(QueueMethods.RESERVE, request, bounded,
                answer -> answer.getJobsList().stream().map(Job::new).toList());
    }

    /**
     * The job is done. Settling again is no error.
     *
     * @param lease the lease
     * @return the outcome; {@code ALREADY} where it was settled before
     */
    public CompletableFuture<JobStatus> settle(Lease lease) {
        return one(QueueMethods.SETTLE, settling(List.of(lease)));
    }

    /**
     * The jobs are done.
     *
     * @param leases 1 to 1,000
     * @return an outcome for each, in their order
     */
    public CompletableFuture<List<Outcome<JobStatus>>> settleAll(List<Lease> leases) {
        return each(QueueMethods.SETTLE, settling(leases), leases);
    }

    private static SettleRequest settling(List<Lease> leases) {
        return SettleRequest.newBuilder().addAllLeases(messages(leases)).build();
    }

    /**
     * The job is to be tried again.
     *
     * @param lease the lease
     * @param due when
     * @param error for the history; the first 1,024 bytes are kept
     * @return the outcome; {@code DEAD} where that was its last attempt
     */
    public CompletableFuture<JobStatus> release(Lease lease, Due due, String error) {
        return one(QueueMethods.RELEASE, releasing(List.of(lease), due, error));
    }

    /**
     * The jobs are to be tried again.
     *
     * @param leases 1 to 1,000
     * @param due when
     * @param error for the history; the first 1,024 bytes are kept
     * @return an outcome for each, in their order
     */
    public CompletableFuture<List<Outcome<JobStatus>>> releaseAll(
            List<Lease> leases, Due due, String error) {
        return each(QueueMethods.RELEASE, releasing(leases, due, error), leases);
    }

    private static ReleaseRequest releasing(List<Lease> leases, Due due, String error) {
        ReleaseRequest.Builder request = ReleaseRequest.newBuilder()
                .addAllLeases(messages(leases)).setError(Reason.of(error));
        due.describe(request);
        return request.build();
    }

    /**
     * The lease ends so long from now.
     *
     * @param lease the lease
     * @param time 1 s to 12 h
     * @return the outcome
     */
    public CompletableFuture<JobStatus> extend(Lease lease, Duration time) {
        return one(QueueMethods.EXTEND, extending(List.of(lease), time));
    }

    /**
     * The leases end so long from now.
     *
     * @param leases 1 to 1,000
     * @param time 1 s to 12 h
     * @return an outcome for each, in their order
     */
    public CompletableFuture<List<Outcome<JobStatus>>> extendAll(
            List<Lease> leases, Duration time) {
        return each(QueueMethods.EXTEND, extending(leases, time), leases);
    }

    private static ExtendRequest extending(List<Lease> leases, Duration time) {
        return ExtendRequest.newBuilder().addAllLeases(messages(leases))
                .setLeaseMs(Times.millis("lease", time)).build();
    }

    /**
     * Sets the job aside until somebody looks: see {@link #kick}.
     *
     * @param lease the lease
     * @param reason for people; the first 1,024 bytes are kept
     * @return the outcome
     */
    public CompletableFuture<JobStatus> bury(Lease lease, String reason) {
        return one(QueueMethods.BURY, burying(List.of(lease), reason));
    }

    /**
     * Sets jobs aside until somebody looks: see {@link #kick}.
     *
     * @param leases 1 to 1,000
     * @param reason for people; the first 1,024 bytes are kept
     * @return an outcome for each, in their order
     */
    public CompletableFuture<List<Outcome<JobStatus>>> buryAll(List<Lease> leases, String reason) {
        return each(QueueMethods.BURY, burying(leases, reason), leases);
    }

    private static BuryRequest burying(List<Lease> leases, String reason) {
        return BuryRequest.newBuilder().addAllLeases(messages(leases))
                .setReason(Reason.of(reason)).build();
    }

    /**
     * The job is done here, and goes on as a new job in another queue, in one step.
     *
     * @param lease the lease
     * @param queue the other queue
     * @param job the job there; an empty payload keeps the payload
     * @return the id there
     */
    public CompletableFuture<Placed> forward(Lease lease, String queue, NewJob job) {
        ForwardRequest request = ForwardRequest.newBuilder()
                .setLease(lease.message()).setQueue(queue).setJob(job.message()).build();
        return calls.call(QueueMethods.FORWARD, request,
                answer -> Outcome.only(Placed.of(answer)));
    }

    /**
     * The oldest jobs as they stand.
     *
     * @param jobsMax 1 to 1,000
     * @param state the state; {@code JOB_STATE_UNSET}: all
     * @return the jobs
     */
    public CompletableFuture<List<io.stadium.v1.Job>> peek(int jobsMax, JobState state) {
        return peek(PeekRequest.newBuilder().setJobsMax(jobsMax).setState(state).build());
    }

    /**
     * Jobs as they stand, a page at a time.
     *
     * @param request state, key, the last job of the page before; its queue is not read
     * @return the jobs
     */
    public CompletableFuture<List<io.stadium.v1.Job>> peek(PeekRequest request) {
        Bounds.check("jobsMax", request.getJobsMax(), 0, Bounds.ITEMS_MAX);
        return calls.call(QueueMethods.PEEK, request.toBuilder().setQueue(name).build(),
                io.stadium.v1.Jobs::getJobsList);
    }

    /**
     * One job as it stands.
     *
     * @param job its id
     * @return the job
     */
    public CompletableFuture<io.stadium.v1.Job> find(long job) {
        return calls.call(QueueMethods.FIND, JobNamed.newBuilder().setJob(job).build());
    }

    /**
     * The life of a job, newest first.
     *
     * @param job its id
     * @return what happened
     */
    public CompletableFuture<List<HistoryEntry>> history(long job) {
        return calls.call(QueueMethods.HISTORY, JobNamed.newBuilder().setJob(job).build(),
                io.stadium.v1.JobHistory::getEntriesList);
    }

    /**
     * The figures of the queue.
     *
     * @return counts, settings
     */
    public CompletableFuture<QueueStats> stats() {
        return calls.call(QueueMethods.STATS, named);
    }

    /**
     * Makes the queue, or replaces all its settings. Takes an admin's key.
     *
     * @param settings a setting that is not there is the default
     * @return when it is done
     */
    public CompletableFuture<Void> declare(QueueSettings settings) {
        return calls.run(QueueMethods.DECLARE,
                DeclareRequest.newBuilder().setQueue(name).setSettings(settings).build());
    }

    /**
     * Hands out nothing until {@link #resume}; puts go on.
     *
     * @return when it is done
     */
    public CompletableFuture<Void> pause() {
        return calls.run(QueueMethods.PAUSE, named);
    }

    /**
     * Hands out jobs again.
     *
     * @return when it is done
     */
    public CompletableFuture<Void> resume() {
        return calls.run(QueueMethods.RESUME, named);
    }

    /**
     * Removes the queue with its schedules; it is rejected while there are jobs. Takes an admin's
     * key.
     *
     * @return when it is done
     */
    public CompletableFuture<Void> drop() {
        return calls.run(QueueMethods.DROP, named);
    }

    /**
     * Makes the oldest buried jobs due again.
     *
     * @param oldest at most so many
     * @return how many there were
     */
    public CompletableFuture<Long> kick(int oldest) {
        return kick(KickRequest.newBuilder().setOldest(positive(oldest)).build());
    }

    /**
     * Makes these buried jobs due again.
     *
     * @param jobs ids, 1 to 1,000
     * @return how many there were
     */
    public CompletableFuture<Long> kick(List<Long> jobs) {
        return kick(KickRequest.newBuilder().addAllJobs(Bounds.items("jobs", jobs)).build());
    }

    private CompletableFuture<Long> kick(KickRequest request) {
        return calls.call(QueueMethods.KICK, request.toBuilder().setQueue(name).build(),
                Counted::getJobs);
    }

    /**
     * Makes the oldest dead jobs due again.
     *
     * @param oldest at most so many
     * @param to the queue; empty: this one
     * @return how many there were
     */
    public CompletableFuture<Long> redrive(int oldest, String to) {
        return redrive(RedriveRequest.newBuilder().setOldest(positive(oldest)).setTo(to).build());
    }

    /**
     * Makes these dead jobs due again.
     *
     * @param jobs ids, 1 to 1,000
     * @param to the queue; empty: this one
     * @return how many there were
     */
    public CompletableFuture<Long> redrive(List<Long> jobs, String to) {
        return redrive(RedriveRequest.newBuilder()
                .addAllJobs(Bounds.items("jobs", jobs)).setTo(to).build());
    }

    private CompletableFuture<Long> redrive(RedriveRequest request) {
        return calls.call(QueueMethods.REDRIVE, request.toBuilder().setQueue(name).build(),
                Counted::getJobs);
    }

    /**
     * Removes a job in any state.
     *
     * @param job its id
     * @return the outcome
     */
    public CompletableFuture<JobStatus> delete(long job) {
        return one(QueueMethods.DELETE, DeleteRequest.newBuilder().addJobs(job).build());
    }

    /**
     * Removes jobs in any state.
     *
     * @param jobs ids, 1 to 1,000
     * @return an outcome for each, in their order
     */
    public CompletableFuture<List<Outcome<JobStatus>>> deleteAll(List<Long> jobs) {
        return each(QueueMethods.DELETE, DeleteRequest.newBuilder().addAllJobs(jobs).build(), jobs);
    }

    /**
     * Changes a job that nobody works on.
     *
     * @param request the job, and the fields that become different
     * @return when it is done
     */
    public CompletableFuture<Void> edit(EditRequest request) {
        return calls.run(QueueMethods.EDIT, request);
    }

    /**
     * Removes all jobs of one state. Takes an admin's key.
     *
     * @param state the state; {@code JOB_STATE_UNSET}: all but the reserved ones
     * @return how many there were
     */
    public CompletableFuture<Long> purge(JobState state) {
        return calls.call(QueueMethods.PURGE,
                PurgeRequest.newBuilder().setQueue(name).setState(state).build(),
                Counted::getJobs);
    }

    /**
     * Puts a job at each time of a cron expression. The same name replaces the schedule.
     *
     * @param schedule the schedule's name
     * @param cron expression, time zone, and what becomes of times that passed while the server was
     *     down
     * @param job the job; its delay, moment and dedup id have no effect
     * @return when it is done
     */
    public CompletableFuture<Void> schedule(String schedule, Cron cron, NewJob job) {
        return calls.run(QueueMethods.SCHEDULE, ScheduleRequest.newBuilder().setQueue(name)
                .setName(schedule).setCron(cron).setJob(job.message()).build());
    }

    /**
     * Ends a schedule. Jobs that it put stay.
     *
     * @param schedule the schedule's name
     * @return when it is done
     */
    public CompletableFuture<Void> unschedule(String schedule) {
        return calls.run(QueueMethods.UNSCHEDULE,
                UnscheduleRequest.newBuilder().setQueue(name).setName(schedule).build());
    }

    /**
     * The schedules of the queue.
     *
     * @return the schedules, by name
     */
    public CompletableFuture<List<ScheduleView>> schedules() {
        return calls.call(QueueMethods.SCHEDULES, named, ScheduleList::getSchedulesList);
    }

    private <Q> CompletableFuture<JobStatus> one(Method<Q, Outcomes> method, Q request) {
        return calls.call(method, request,
                answer -> JobStatus.of(Outcome.only(answer.getOutcomesList())).get());
    }

    private <Q> CompletableFuture<List<Outcome<JobStatus>>> each(
            Method<Q, Outcomes> method, Q request, List<?> items) {
        int asked = Bounds.items("jobs", items).size();
        return calls.call(method, request, answer -> Outcome.each(
                items.subList(0, asked), answer.getOutcomesList(),
                (item, outcome) -> JobStatus.of(outcome)));
    }

    private static List<io.stadium.v1.Lease> messages(List<Lease> leases) {
        return leases.stream().map(Lease::message).toList();
    }

    private static int positive(int oldest) {
        return Bounds.check("oldest", oldest, 1, Integer.MAX_VALUE);
    }
}
