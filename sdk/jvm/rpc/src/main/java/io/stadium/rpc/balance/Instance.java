package io.stadium.rpc.balance;

import java.nio.charset.StandardCharsets;

/**
 * All that is known of one instance. It is known by its address while discovery names it, and what
 * was learnt stays through every update.
 */
final class Instance {
    /** The connection to an instance, as far as the driver reported. */
    enum Link { IDLE, CONNECTED, LOST }

    final int slot;
    final int id;
    final String address;

    /** The hash of the address. */
    final long hash;

    final PeakEwma latency;
    final Health health;
    String zone = "";
    String version = "";
    long weight;

    /** From discovery, until the connection reports one. */
    float load;

    boolean isLoadReported;
    private boolean isLeaving;
    private boolean isLeavingReported;
    Link link = Link.IDLE;

    /** Of a lost link: when it is worth another try. */
    long retryAtUs;

    boolean isInSubset;

    /** Calls that have begun and not ended. */
    int inflight;

    /** BUSY keeps calls away until then. */
    long busyUntilUs;

    /** The factor of load and weight in a cost. */
    double costFactor = 1.0;

    /** One over the weight. */
    double inverseWeight = 1.0;

    /** The update that named it last. */
    long namedIn;

    Instance(int slot, int id, Known known, BalanceSettings settings) {
        this.slot = slot;
        this.id = id;
        address = known.address();
        hash = Hashes.hash(address.getBytes(StandardCharsets.UTF_8));
        latency = new PeakEwma(settings.decayUs);
        health = new Health(settings);
        apply(known);
    }

    /** Takes over what discovery reports now. */
    void apply(Known known) {
        zone = known.zone();
        version = known.version();
        weight = known.weight();
        isLeaving = known.isQuiescing();
        if (!isLoadReported) {
            load = sane(known.load());
        }
        inverseWeight = 1.0 / Math.max(weight, 1);
        weigh();
    }

    /** Takes over what its connection reports. Whether it began or ended to quiesce. */
    boolean report(float reported, boolean quiesces) {
        boolean was = isQuiescing();
        load = sane(reported);
        isLoadReported = true;
        isLeavingReported = quiesces;
        weigh();
        return was != isQuiescing();
    }

    /** The process that answers there next may be another one. */
    void forgetReports() {
        isLoadReported = false;
        isLeavingReported = false;
        busyUntilUs = 0;
    }

    private void weigh() {
        double wide = load;
        costFactor = (1.0 + wide * wide) * 100.0 / Math.max(weight, 1);
    }

    private static float sane(float load) {
        return Float.isFinite(load) ? Math.min(Math.max(load, 0f), 100f) : 0f;
    }

    boolean isQuiescing() {
        return isLeaving || isLeavingReported || weight == 0;
    }

    boolean isConnected() {
        return link == Link.CONNECTED;
    }

    boolean isLost() {
        return link == Link.LOST;
    }

    boolean isReachable(long nowUs) {
        return link != Link.LOST || retryAtUs <= nowUs;
    }

    boolean wantsProbe(long nowUs) {
        return health.wantsProbe(nowUs) && !isQuiescing() && isReachable(nowUs);
    }

    boolean isServing(long nowUs) {
        return health.standing(nowUs) == Health.Standing.SERVING;
    }

    /** How far from 1 its draw for a value is, from 0 up to, and without, 1. */
    private double distance(long value) {
        return (Hashes.scramble(value ^ hash) >>> 11) * 0x1p-53;
    }

    /** Its score for a value; the lowest of all instances wins. */
    double score(long value) {
        return -Math.log(1.0 - distance(value)) * inverseWeight;
    }

    /** Its score where it is below another one, else infinity; it saves most logarithms. */
    double scoreBelow(long value, double best) {
        // -ln(1 - d) is never less than d.
        if (distance(value) * inverseWeight >= best) {
            return Double.POSITIVE_INFINITY;
        }
        double score = score(value);
        return score < best ? score : Double.POSITIVE_INFINITY;
    }
}
