package io.stadium.api;

import java.time.Duration;
import java.util.Objects;

/** Wishes of a reservation. Instances are immutable. */
public final class ReserveOptions {
    /** The longest wait: a call's deadline is at most a day. */
    private static final Duration WAIT_MAX = Duration.ofHours(23);

    private final int jobsMax;
    private final Duration wait;
    private final Duration lease;
    private final String worker;

    private ReserveOptions(int jobsMax, Duration wait, Duration lease, String worker) {
        this.jobsMax = jobsMax;
        this.wait = wait;
        this.lease = lease;
        this.worker = worker;
    }

    /**
     * Up to so many jobs that are due now, for the queue's lease.
     *
     * @param jobsMax 1 to 1,000
     * @return the options
     */
    public static ReserveOptions upTo(int jobsMax) {
        Bounds.check("jobsMax", jobsMax, 1, Bounds.ITEMS_MAX);
        return new ReserveOptions(jobsMax, Duration.ZERO, Duration.ZERO, "");
    }

    /**
     * Waits for a first job.
     *
     * @param time the longest wait, 0 to 23 h; default 0
     * @return other options
     */
    public ReserveOptions waiting(Duration time) {
        Bounds.check("wait", time, Duration.ZERO, WAIT_MAX);
        return new ReserveOptions(jobsMax, time, lease, worker);
    }

    /**
     * With a lease.
     *
     * @param time the time for each job; zero, the default: as the queue does
     * @return other options
     */
    public ReserveOptions lease(Duration time) {
        Times.millis("lease", time);
        return new ReserveOptions(jobsMax, wait, time, worker);
    }

    /**
     * With a name for the history of the jobs.
     *
     * @param name at most 64 bytes; default none
     * @return other options
     */
    public ReserveOptions worker(String name) {
        return new ReserveOptions(jobsMax, wait, lease, Objects.requireNonNull(name, "name"));
    }

    int jobsMax() {
        return jobsMax;
    }

    Duration waiting() {
        return wait;
    }

    Duration lease() {
        return lease;
    }

    String worker() {
        return worker;
    }
}
