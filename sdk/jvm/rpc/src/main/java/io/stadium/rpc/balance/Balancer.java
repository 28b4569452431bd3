package io.stadium.rpc.balance;

import io.stadium.rpc.Explanation;
import java.util.Arrays;
import java.util.List;

/**
 * The instances of one service, where calls to them go, and what their ends teach.
 *
 * <p>The order of a call is {@link #choose}, {@link #began}, then once {@link #ended} or
 * {@link #streamEnded}. The order of a connection: {@link #wanted} names those to keep up;
 * {@link #connected}, {@link #disconnected} and {@link #closed} report. Times are microseconds of
 * one clock that does not go back. Instances are not thread-safe. A choice and the end of a call
 * allocate nothing.
 *
 * <p>An id names an instance while discovery does; events of one that has gone have no effect on
 * others.
 */
public final class Balancer {
    /** No instance. */
    public static final int NONE = -1;

    private final BalanceSettings settings;
    private final Table table;
    private final Chooser chooser;
    private final Owners owners;
    private final RandomNumbers random;
    private final Draw draw = new Draw();
    private boolean isConnected;

    /** When success rates are compared next. */
    private long windowEndUs;

    private double[] rates = {};
    private long ejections;

    /**
     * Creates a balancer that knows no instance.
     *
     * @param settings not changed afterwards
     */
    public Balancer(BalanceSettings settings) {
        this.settings = settings;
        table = new Table(settings);
        chooser = new Chooser(table);
        owners = new Owners(table);
        random = new RandomNumbers(settings.seed);
    }

    /**
     * Takes over discovery's list. What is known of the instances that stay is kept.
     *
     * @param known all instances there are
     * @param nowUs the time
     * @return the changes
     */
    public Updated update(List<Known> known, long nowUs) {
        Updated updated = table.update(known);
        if (windowEndUs == 0) {
            windowEndUs = nowUs + settings.windowUs;
        }
        reselect();
        return updated;
    }

    /**
     * Chooses the instance for a call. {@link #why} and {@link #isConnected} tell more.
     *
     * @param nowUs the time
     * @param exclude instances that must not be chosen
     * @param excluded how many of them count
     * @return the instance, or {@link #NONE}
     */
    public int choose(long nowUs, int[] exclude, int excluded) {
        chooser.choose(nowUs, exclude, excluded, random, draw);
        return chosen();
    }

    /**
     * Chooses the instance for a call with a key.
     *
     * @param nowUs the time
     * @param keyHash the hash of the key
     * @param exclude instances that must not be chosen
     * @param excluded how many of them count
     * @return the instance, or {@link #NONE}
     */
    public int chooseByKey(long nowUs, long keyHash, int[] exclude, int excluded) {
        if (settings.policy == BalanceSettings.Policy.ROUND_ROBIN) {
            return choose(nowUs, exclude, excluded);
        }
        int slot = owners.owner(nowUs, keyHash, exclude, excluded);
        if (slot < 0) {
            draw.none();
        } else {
            draw.of(slot, Why.KEY);
        }
        return chosen();
    }

    private int chosen() {
        if (draw.slot < 0) {
            return NONE;
        }
        Instance instance = table.slots[draw.slot];
        isConnected = instance.isConnected();
        return instance.id;
    }

    /**
     * Why the last choice was made.
     *
     * @return {@code null} where there was none to choose
     */
    public Why why() {
        return draw.why;
    }

    /**
     * Whether the instance chosen last has a connection.
     *
     * @return whether a request can be sent at once
     */
    public boolean isConnected() {
        return isConnected;
    }

    /**
     * A call is sent to an instance.
     *
     * @param id the instance
     * @param nowUs the time
     */
    public void began(int id, long nowUs) {
        Instance one = table.find(id);
        if (one != null) {
            one.inflight++;
            if (one.health.began(nowUs) != Health.Verdict.UNCHANGED) {
                spoil();
            }
        }
    }

    /**
     * A call has ended.
     *
     * @param id the instance
     * @param outcome how
     * @param retryAfterMs the delay of BUSY
     * @param latencyUs how long ago it began
     * @param nowUs the time
     */
    public void ended(int id, Outcome outcome, long retryAfterMs, long latencyUs, long nowUs) {
        learn(id, outcome, retryAfterMs, latencyUs, true, nowUs);
    }

    /**
     * A stream or a channel has ended, whose duration is no measure of its instance.
     *
     * @param id the instance
     * @param outcome how
     * @param retryAfterMs the delay of BUSY
     * @param lastedUs how long ago it began
     * @param nowUs the time
     */
    public void streamEnded(int id, Outcome outcome, long retryAfterMs, long lastedUs, long nowUs) {
        learn(id, outcome, retryAfterMs, lastedUs, false, nowUs);
    }

    private void learn(
            int id, Outcome outcome, long retryAfterMs, long latencyUs, boolean isLatency,
            long nowUs) {
        if (nowUs >= windowEndUs) {
            compareRates(nowUs);
        }
        Instance one = table.find(id);
        if (one == null) {
            return;
        }
        long beganUs = Math.max(nowUs - latencyUs, 0);
        one.inflight = Math.max(one.inflight - 1, 0);
        boolean wasUnknown = one.latency.isEmpty();
        Health.Verdict verdict = switch (outcome) {
            case OK, REJECTED -> {
                if (isLatency) {
                    one.latency.observe(latencyUs, nowUs);
                }
                yield one.health.succeeded(beganUs, nowUs);
            }
            case BUSY -> {
                long capMs = settings.busyMaxUs / 1_000;
                long waitUs = retryAfterMs > capMs ? settings.busyMaxUs
                        : Math.min(retryAfterMs * 1_000, settings.busyMaxUs);
                if (one.busyUntilUs <= nowUs) {
                    chooser.spoil();
                }
                one.busyUntilUs = Math.max(one.busyUntilUs, nowUs + waitUs);
                yield one.health.endedSilently(beganUs);
            }
            case DEADLINE, BROKEN -> {
                if (isLatency) {
                    one.latency.observePeak(latencyUs, nowUs);
                }
                yield one.health.failed(beganUs);
            }
            case CANCELLED -> {
                if (isLatency) {
                    one.latency.observePeak(latencyUs, nowUs);
                }
                yield one.health.endedSilently(beganUs);
            }
        };
        if (verdict == Health.Verdict.EJECT_AGAIN
                || verdict == Health.Verdict.EJECT && mayEject(one, nowUs)) {
            eject(one, nowUs);
        } else if (verdict == Health.Verdict.IMPROVED || wasUnknown && !one.latency.isEmpty()) {
            spoil();
        }
    }

    /** Ends the window: ejects instances whose success rate is far below the median. */
    private void compareRates(long nowUs) {
        windowEndUs = nowUs + settings.windowUs;
        if (rates.length < table.length) {
            rates = new double[table.length];
        }
        int count = 0;
        for (int slot = 0; slot < table.length; slot++) {
            Instance one = table.slots[slot];
            if (one != null && one.health.hasRate()) {
                rates[count++] = one.health.rate();
            }
        }
        // Two can only disagree; three have a majority.
        if (count >= 3) {
            Arrays.sort(rates, 0, count);
            double least = rates[count / 2] - settings.successGap;
            for (int slot = 0; slot < table.length; slot++) {
                Instance one = table.slots[slot];
                if (one != null && one.isServing(nowUs) && one.health.hasRate()
                        && one.health.rate() < least && mayEject(one, nowUs)) {
                    eject(one, nowUs);
                }
            }
        }
        for (int slot = 0; slot < table.length; slot++) {
            if (table.slots[slot] != null) {
                table.slots[slot].health.answered = 0;
                table.slots[slot].health.failed = 0;
            }
        }
    }

    /** Whether enough others are left: of the subset for a member, else of all. */
    private boolean mayEject(Instance candidate, long nowUs) {
        int all = 0;
        int out = 0;
        for (int slot = 0; slot < table.length; slot++) {
            Instance one = table.slots[slot];
            if (one == null || one.isQuiescing() || candidate.isInSubset && !one.isInSubset) {
                continue;
            }
            all++;
            out += one.isServing(nowUs) ? 0 : 1;
        }
        return out + 1 <= Math.ceil(all * settings.shareMax);
    }

    private void eject(Instance one, long nowUs) {
        one.health.eject(nowUs);
        ejections++;
        spoil();
    }

    /**
     * A connection to an instance is up.
     *
     * @param id the instance
     */
    public void connected(int id) {
        relink(id, Instance.Link.CONNECTED, 0);
    }

    /**
     * The last connection to an instance failed or ended. No call is sent there for a time.
     *
     * @param id the instance
     * @param retryAtUs when a connection is worth another try
     */
    public void disconnected(int id, long retryAtUs) {
        relink(id, Instance.Link.LOST, retryAtUs);
    }

    /**
     * The last connection to an instance was closed on purpose.
     *
     * @param id the instance
     */
    public void closed(int id) {
        relink(id, Instance.Link.IDLE, 0);
    }

    private void relink(int id, Instance.Link link, long retryAtUs) {
        Instance one = table.find(id);
        if (one == null) {
            return;
        }
        boolean wasLost = one.isLost();
        one.link = link;
        one.retryAtUs = retryAtUs;
        if (link != Instance.Link.CONNECTED) {
            one.forgetReports();
        }
        if (wasLost == one.isLost()) {
            spoil();
        } else {
            reselect();
        }
    }

    /**
     * An instance reports its load on its connection.
     *
     * @param id the instance
     * @param load the load factor
     * @param isQuiescing whether it takes no new calls
     */
    public void load(int id, float load, boolean isQuiescing) {
        Instance one = table.find(id);
        if (one != null && one.report(load, isQuiescing)) {
            reselect();
        }
    }

    private void reselect() {
        table.chooseSubset();
        spoil();
    }

    private void spoil() {
        chooser.spoil();
        owners.spoil();
    }

    /**
     * The instances to keep connected, in the order of their ranks.
     *
     * @return a new array
     */
    public int[] wanted() {
        int[] ids = new int[table.subsetSize];
        for (int rank = 0; rank < ids.length; rank++) {
            ids[rank] = table.slots[table.subset[rank]].id;
        }
        return ids;
    }

    /**
     * Whether an instance is one to keep connected.
     *
     * @param id the instance
     * @return whether it is in the subset
     */
    public boolean isWanted(int id) {
        Instance one = table.find(id);
        return one != null && one.isInSubset;
    }

    /**
     * All instances that are known.
     *
     * @return a new array, in the order of their slots
     */
    public int[] ids() {
        return Arrays.stream(table.slots, 0, table.length).filter(one -> one != null)
                .mapToInt(one -> one.id).toArray();
    }

    /**
     * Where an instance listens.
     *
     * @param id the instance
     * @return {@code HOST:PORT}, or {@code null} where it has gone
     */
    public String address(int id) {
        Instance one = table.find(id);
        return one == null ? null : one.address;
    }

    /**
     * The instance at an address.
     *
     * @param address {@code HOST:PORT}
     * @return the instance, or {@link #NONE}
     */
    public int find(String address) {
        Instance one = table.find(address);
        return one == null ? NONE : one.id;
    }

    /**
     * Whether an instance gets no new calls because it leaves or has no weight.
     *
     * @param id the instance
     * @return whether it quiesces
     */
    public boolean isLeaving(int id) {
        Instance one = table.find(id);
        return one != null && one.isQuiescing();
    }

    /**
     * Calls under way at an instance.
     *
     * @param id the instance
     * @return calls that have begun and not ended
     */
    public int inflight(int id) {
        Instance one = table.find(id);
        return one == null ? 0 : one.inflight;
    }

    /**
     * How many instances are known.
     *
     * @return instances
     */
    public int size() {
        return table.size();
    }

    /**
     * How often an instance was ejected.
     *
     * @return ejections since the beginning
     */
    public long ejections() {
        return ejections;
    }

    /**
     * Every instance, and the choice that {@link #choose} would make now.
     *
     * @param nowUs the time
     * @param keyHash the hash of the call's key, or {@code null}
     * @param discovery how far the list of instances can be trusted
     * @return the explanation
     */
    public Explanation explain(long nowUs, Long keyHash, String discovery) {
        Draw its = new Draw();
        if (keyHash == null || settings.policy == BalanceSettings.Policy.ROUND_ROBIN) {
            chooser.peek(nowUs, random.copy(), its);
        } else {
            int slot = owners.owner(nowUs, keyHash, new int[0], 0);
            if (slot >= 0) {
                its.of(slot, Why.KEY);
            }
        }
        return new Explainer(table, nowUs).explain(its, keyHash, discovery);
    }
}
