package io.stadium.rpc.balance;

/**
 * The settings of a {@link Balancer}, with their defaults. They are set before the balancer is made
 * and not changed afterwards. Times are microseconds.
 */
public final class BalanceSettings {
    /** How an instance is chosen. */
    public enum Policy {
        /** The cheaper one of two that are drawn. */
        PEAK_EWMA,
        /** One after the other, without regard to keys, costs and failures. */
        ROUND_ROBIN
    }

    /** How an instance is chosen. */
    public Policy policy = Policy.PEAK_EWMA;

    /** The hash of the client's name: it makes the subsets of clients differ. */
    public long client;

    /** The client's zone, whose instances are preferred; empty for none. */
    public String zone = "";

    /** Instances of the zone that must work, so that the others are left out. */
    public int zoneInstancesMin = 3;

    /** Instances that the client keeps connected. */
    public int subsetSize = 20;

    /** Time constant with which latencies are forgotten. */
    public long decayUs = 10_000_000;

    /** Latency of an instance of which nothing is known. */
    public long latencyDefaultUs = 1_000;

    /** The longest time that BUSY keeps calls away. */
    public long busyMaxUs = 5_000_000;

    /** Begins the random numbers. */
    public long seed = 1;

    /** Failures in a row that eject an instance. */
    public int failures = 5;

    /** Length of the window in which success rates are counted. */
    public long windowUs = 10_000_000;

    /** Answers in a window without which an instance has no success rate. */
    public int windowAnswersMin = 20;

    /** Distance to the median of the success rates that ejects an instance. */
    public double successGap = 0.2;

    /** Length of the first ejection. */
    public long baseUs = 1_000_000;

    /** Length of the longest ejection. */
    public long maxUs = 60_000_000;

    /** The share of the instances that may be ejected. */
    public double shareMax = 0.5;

    /** Answers in a row that end a probation. */
    public int probes = 3;

    /** Time without an ejection that makes an earlier one forgotten. */
    public long forgetUs = 60_000_000;

    /** Creates the default settings. */
    public BalanceSettings() {}
}
