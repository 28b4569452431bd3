package io.stadium.rpc.admission;

import java.util.ArrayDeque;

/**
 * Where calls wait for the limit: a bounded queue that never makes them wait long in vain.
 *
 * <p>It is first in, first out, and nearly empty. When its oldest call has waited longer than the
 * target for a whole interval, the newest call goes first, because its caller most likely waits
 * still, and calls older than the interval are answered Busy. docs/rpc-guards.md, Queue, specifies
 * each step. Instances are not thread-safe.
 *
 * @param <C> calls
 */
public final class WaitingCalls<C extends WaitingCalls.Call> {
    /** A call that waits. */
    public interface Call {
        /**
         * When it began to wait.
         *
         * @return microseconds
         */
        long waitsSinceUs();

        /**
         * When its caller stops waiting.
         *
         * @return microseconds
         */
        long deadlineUs();
    }

    /** What happens with a call that {@link #push} or {@link #pop} concerns. */
    public enum Fate {
        /** Push: the new call waits, and no other has left. */
        WAITS,
        /** Pop: {@link #taken} is to be done. */
        WORK,
        /** {@link #taken} has left the queue, because its deadline has passed. */
        EXPIRED,
        /** {@link #taken} has left the queue, because it waited too long: it gets Busy. */
        STALE,
        /** Push: there is no place for the new call, which gets Busy. */
        FULL,
        /** Pop: no call waits. */
        EMPTY
    }

    /**
     * What a queue is built from.
     *
     * @param waitingMax calls that may wait; each costs the bytes of its request
     * @param targetUs a wait that nobody minds, in microseconds
     * @param intervalUs how long the oldest call may wait above the target, in microseconds
     */
    public record Settings(int waitingMax, long targetUs, long intervalUs) {
        /** The defaults of docs/rpc-guards.md. */
        public static final Settings DEFAULT = new Settings(1_000, 5_000, 100_000);
    }

    private static final long NONE = -1;

    private final Settings settings;
    private final ArrayDeque<C> waiting = new ArrayDeque<>();
    private C taken;

    /** Since when the oldest call has always waited above the target, or {@link #NONE}. */
    private long aboveSince = NONE;

    /** When work was last handed out while more was waiting, or {@link #NONE}. */
    private long workedAt = NONE;

    /** Smoothed time between two pieces of work, in microseconds. */
    private double gap;

    /**
     * Creates an empty queue.
     *
     * @param settings its settings
     */
    public WaitingCalls(Settings settings) {
        this.settings = settings;
    }

    /**
     * Lets a call wait, from its {@link Call#waitsSinceUs} on.
     *
     * @param call the new call
     * @return {@code WAITS}; {@code EXPIRED} or {@code STALE} where it waits in the place of
     *     {@link #taken}; or {@code FULL}
     */
    public Fate push(C call) {
        long now = call.waitsSinceUs();
        observe(now);
        if (waiting.size() < settings.waitingMax) {
            waiting.addLast(call);
            return Fate.WAITS;
        }
        C oldest = waiting.peekFirst();
        if (oldest == null) {
            return Fate.FULL;
        }
        Fate fate;
        if (oldest.deadlineUs() <= now) {
            fate = Fate.EXPIRED;
        } else if (isOverloaded(now) && isStale(oldest, now)) {
            fate = Fate.STALE;
        } else {
            return Fate.FULL;
        }
        taken = waiting.pollFirst();
        waiting.addLast(call);
        return fate;
    }

    /**
     * Takes the next call out. Ask again until there is work or nothing is left.
     *
     * @param now microseconds
     * @return {@code WORK}, {@code EXPIRED} or {@code STALE} of {@link #taken}; or {@code EMPTY}
     */
    public Fate pop(long now) {
        observe(now);
        C oldest = waiting.peekFirst();
        if (oldest == null) {
            return Fate.EMPTY;
        }
        boolean isOverloaded = isOverloaded(now);
        if (oldest.deadlineUs() <= now) {
            taken = waiting.pollFirst();
            return Fate.EXPIRED;
        }
        if (isOverloaded && isStale(oldest, now)) {
            taken = waiting.pollFirst();
            return Fate.STALE;
        }
        taken = isOverloaded ? waiting.pollLast() : waiting.pollFirst();
        if (taken.deadlineUs() <= now) {
            return Fate.EXPIRED;
        }
        if (workedAt != NONE) {
            double between = Math.max(now - workedAt, 0);
            gap += (between - gap) * (gap == 0 ? 1 : 0.1);
        }
        workedAt = waiting.isEmpty() ? NONE : now;
        return Fate.WORK;
    }

    /**
     * The call that the last push or pop has taken out.
     *
     * @return the call; the queue forgets it
     */
    public C taken() {
        C call = taken;
        taken = null;
        return call;
    }

    /**
     * Takes out a call that was cancelled. It takes time in proportion to the calls that wait.
     *
     * @param call the call
     * @return whether it waited
     */
    public boolean cancel(C call) {
        return waiting.remove(call);
    }

    /**
     * How many calls wait.
     *
     * @return calls
     */
    public int size() {
        return waiting.size();
    }

    /**
     * The share of the places that is taken.
     *
     * @return 0 to 1
     */
    public float fill() {
        return (float) waiting.size() / Math.max(settings.waitingMax, 1);
    }

    /**
     * Whether the newest call is the next one.
     *
     * @param now microseconds
     * @return whether the oldest call has waited above the target for a whole interval
     */
    public boolean isOverloaded(long now) {
        return aboveSince != NONE && now - aboveSince >= settings.intervalUs;
    }

    /**
     * How long a call would wait that came now, by the pace of the work.
     *
     * @return 5 to 5,000 milliseconds
     */
    public int retryAfterMs() {
        double wait = (waiting.size() + 1.0) * gap / 1_000;
        return (int) Math.min(Math.max(wait, 5), 5_000);
    }

    private void observe(long now) {
        C oldest = waiting.peekFirst();
        long crossed = oldest == null ? NONE : oldest.waitsSinceUs() + settings.targetUs;
        if (crossed == NONE || crossed >= now) {
            aboveSince = NONE;
        } else if (aboveSince == NONE) {
            aboveSince = crossed;
        }
    }

    private boolean isStale(C call, long now) {
        return now - call.waitsSinceUs() > settings.intervalUs;
    }
}
