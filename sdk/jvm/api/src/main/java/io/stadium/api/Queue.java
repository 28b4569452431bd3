// Made of AsyncQueue.java by BlockingForms: change that file.
package io.stadium.api;

import io.stadium.v1.Cron;
import io.stadium.v1.EditRequest;
import io.stadium.v1.HistoryEntry;
import io.stadium.v1.JobState;
import io.stadium.v1.PeekRequest;
import io.stadium.v1.QueueSettings;
import io.stadium.v1.QueueStats;
import io.stadium.v1.ScheduleView;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/**
 * A queue, by its name. docs/queue.md describes each command, its bounds and its guarantees. A
 * program that works on jobs uses a {@link Worker}.
 *
 * <p>The methods wait for their answer, and throw an
 * {@link io.stadium.rpc.RpcException} where there is none. {@link #async} has the same
 * ones with futures.
 */
public final class Queue {
    private final AsyncQueue async;

    Queue(AsyncQueue async) {
        this.async = async;
    }

    /**
     * The same with futures.
     *
     * @return the methods that do not wait
     */
    public AsyncQueue async() {
        return async;
    }

    /**
     * The queue's name.
     *
     * @return the name
     */
    public String name() {
        return async.name();
    }

    /**
     * Puts a job, which is on disk then. Makes the queue where there is none.
     *
     * @param job the job
     * @return its id
     */
    public Placed put(NewJob job) {
        return waited(async.put(job));
    }

    /**
     * Puts a job, which is on disk then. Makes the queue where there is none.
     *
     * @param payload for the worker
     * @return its id
     */
    public Placed put(byte[] payload) {
        return waited(async.put(payload));
    }

    /**
     * Puts a job, which is on disk then. Makes the queue where there is none.
     *
     * @param payload a text, which the worker gets in UTF-8
     * @return its id
     */
    public Placed put(String payload) {
        return waited(async.put(payload));
    }

    /**
     * Puts jobs, all or none.
     *
     * @param jobs 1 to 1,000
     * @return their ids, in their order
     */
    public List<Placed> putAll(List<NewJob> jobs) {
        return waited(async.putAll(jobs));
    }

    /**
     * Reserves jobs that are due, for the queue's lease.
     *
     * @param jobsMax 1 to 1,000
     * @return the jobs; none where none is due
     */
    public List<Job> reserve(int jobsMax) {
        return waited(async.reserve(jobsMax));
    }

    /**
     * Reserves jobs that are due.
     *
     * @param options how many, how long to wait for a first one, the lease
     * @return the jobs; none where none was due in time
     */
    public List<Job> reserve(ReserveOptions options) {
        return waited(async.reserve(options));
    }

    /**
     * The job is done. Settling again is no error.
     *
     * @param lease the lease
     * @return the outcome; {@code ALREADY} where it was settled before
     */
    public JobStatus settle(Lease lease) {
        return waited(async.settle(lease));
    }

    /**
     * The jobs are done.
     *
     * @param leases 1 to 1,000
     * @return an outcome for each, in their order
     */
    public List<Outcome<JobStatus>> settleAll(List<Lease> leases) {
        return waited(async.settleAll(leases));
    }

    /**
     * The job is to be tried again.
     *
     * @param lease the lease
     * @param due when
     * @param error for the history; the first 1,024 bytes are kept
     * @return the outcome; {@code DEAD} where that was its last attempt
     */
    public JobStatus release(Lease lease, Due due, String error) {
        return waited(async.release(lease, due, error));
    }

    /**
     * The jobs are to be tried again.
     *
     * @param leases 1 to 1,000
     * @param due when
     * @param error for the history; the first 1,024 bytes are kept
     * @return an outcome for each, in their order
     */
    public List<Outcome<JobStatus>> releaseAll(
            List<Lease> leases, Due due, String error) {
        return waited(async.releaseAll(leases, due, error));
    }

    /**
     * The lease ends so long from now.
     *
     * @param lease the lease
     * @param time 1 s to 12 h
     * @return the outcome
     */
    public JobStatus extend(Lease lease, Duration time) {
        return waited(async.extend(lease, time));
    }

    /**
     * The leases end so long from now.
     *
     * @param leases 1 to 1,000
     * @param time 1 s to 12 h
     * @return an outcome for each, in their order
     */
    public List<Outcome<JobStatus>> extendAll(
            List<Lease> leases, Duration time) {
        return waited(async.extendAll(leases, time));
    }

    /**
     * Sets the job aside until somebody looks: see {@link #kick}.
     *
     * @param lease the lease
     * @param reason for people; the first 1,024 bytes are kept
     * @return the outcome
     */
    public JobStatus bury(Lease lease, String reason) {
        return waited(async.bury(lease, reason));
    }

    /**
     * Sets jobs aside until somebody looks: see {@link #kick}.
     *
     * @param leases 1 to 1,000
     * @param reason for people; the first 1,024 bytes are kept
     * @return an outcome for each, in their order
     */
    public List<Outcome<JobStatus>> buryAll(List<Lease> leases, String reason) {
        return waited(async.buryAll(leases, reason));
    }

    /**
     * The job is done here, and goes on as a new job in another queue, in one step.
     *
     * @param lease the lease
     * @param queue the other queue
     * @param job the job there; an empty payload keeps the payload
     * @return the id there
     */
    public Placed forward(Lease lease, String queue, NewJob job) {
        return waited(async.forward(lease, queue, job));
    }

    /**
     * The oldest jobs as they stand.
     *
     * @param jobsMax 1 to 1,000
     * @param state the state; {@code JOB_STATE_UNSET}: all
     * @return the jobs
     */
    public List<io.stadium.v1.Job> peek(int jobsMax, JobState state) {
        return waited(async.peek(jobsMax, state));
    }

    /**
     * Jobs as they stand, a page at a time.
     *
     * @param request state, key, the last job of the page before; its queue is not read
     * @return the jobs
     */
    public List<io.stadium.v1.Job> peek(PeekRequest request) {
        return waited(async.peek(request));
    }

    /**
     * One job as it stands.
     *
     * @param job its id
     * @return the job
     */
    public io.stadium.v1.Job find(long job) {
        return waited(async.find(job));
    }

    /**
     * The life of a job, newest first.
     *
     * @param job its id
     * @return what happened
     */
    public List<HistoryEntry> history(long job) {
        return waited(async.history(job));
    }

    /**
     * The figures of the queue.
     *
     * @return counts, settings
     */
    public QueueStats stats() {
        return waited(async.stats());
    }

    /**
     * Makes the queue, or replaces all its settings. Takes an admin's key.
     *
     * @param settings a setting that is not there is the default
     */
    public void declare(QueueSettings settings) {
        waited(async.declare(settings));
    }

    /**
     * Hands out nothing until {@link #resume}; puts go on.
     */
    public void pause() {
        waited(async.pause());
    }

    /**
     * Hands out jobs again.
     */
    public void resume() {
        waited(async.resume());
    }

    /**
     * Removes the queue with its schedules; it is rejected while there are jobs. Takes an admin's
     * key.
     */
    public void drop() {
        waited(async.drop());
    }

    /**
     * Makes the oldest buried jobs due again.
     *
     * @param oldest at most so many
     * @return how many there were
     */
    public long kick(int oldest) {
        return waited(async.kick(oldest));
    }

    /**
     * Makes these buried jobs due again.
     *
     * @param jobs ids, 1 to 1,000
     * @return how many there were
     */
    public long kick(List<Long> jobs) {
        return waited(async.kick(jobs));
    }

    /**
     * Makes the oldest dead jobs due again.
     *
     * @param oldest at most so many
     * @param to the queue; empty: this one
     * @return how many there were
     */
    public long redrive(int oldest, String to) {
        return waited(async.redrive(oldest, to));
    }

    /**
     * Makes these dead jobs due again.
     *
     * @param jobs ids, 1 to 1,000
     * @param to the queue; empty: this one
     * @return how many there were
     */
    public long redrive(List<Long> jobs, String to) {
        return waited(async.redrive(jobs, to));
    }

    /**
     * Removes a job in any state.
     *
     * @param job its id
     * @return the outcome
     */
    public JobStatus delete(long job) {
        return waited(async.delete(job));
    }

    /**
     * Removes jobs in any state.
     *
     * @param jobs ids, 1 to 1,000
     * @return an outcome for each, in their order
     */
    public List<Outcome<JobStatus>> deleteAll(List<Long> jobs) {
        return waited(async.deleteAll(jobs));
    }

    /**
     * Changes a job that nobody works on.
     *
     * @param request the job, and the fields that become different
     */
    public void edit(EditRequest request) {
        waited(async.edit(request));
    }

    /**
     * Removes all jobs of one state. Takes an admin's key.
     *
     * @param state the state; {@code JOB_STATE_UNSET}: all but the reserved ones
     * @return how many there were
     */
    public long purge(JobState state) {
        return waited(async.purge(state));
    }

    /**
     * Puts a job at each time of a cron expression. The same name replaces the schedule.
     *
     * @param schedule the schedule's name
     * @param cron expression, time zone, and what becomes of times that passed while the server was
     *     down
     * @param job the job; its delay, moment and dedup id have no effect
     */
    public void schedule(String schedule, Cron cron, NewJob job) {
        waited(async.schedule(schedule, cron, job));
    }

    /**
     * Ends a schedule. Jobs that it put stay.
     *
     * @param schedule the schedule's name
     */
    public void unschedule(String schedule) {
        waited(async.unschedule(schedule));
    }

    /**
     * The schedules of the queue.
     *
     * @return the schedules, by name
     */
    public List<ScheduleView> schedules() {
        return waited(async.schedules());
    }

    private <T> T waited(CompletableFuture<T> answer) {
        return async.calls().client().await(answer);
    }
}
