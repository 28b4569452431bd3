package io.stadium.rpc.server;

/**
 * How much inline work one turn of an event loop has done.
 *
 * <p>Requests that a turn has read wait for the functions before them, so a request's wait is the
 * time since the turn began. The clock is read once in a stride of calls, chosen so that cheap
 * functions hardly pay for it and expensive ones are measured each. Times are nanoseconds.
 */
final class Pace {
    private static final long LOOK_EVERY_NS = 20_000;
    private static final int STRIDE_MAX = 64;

    private boolean isInTurn;
    private long began;

    /** Since the turn began, as of the last look. */
    private long elapsed;

    /** Calls since the last look. */
    private int calls;

    private int stride = 1;
    private int lookCalls;
    private long busyNs;

    /** Smoothed time of one call; 0 before the first was measured. */
    private long eachNs;

    /** A turn has something to do. Returns whether it is the first in this turn. */
    boolean turnBegins(long nanoTime) {
        if (isInTurn) {
            return false;
        }
        isInTurn = true;
        began = nanoTime;
        elapsed = 0;
        return true;
    }

    boolean isInTurn() {
        return isInTurn;
    }

    /** The turn ends. Returns the calls that were measured, as {@link #called}. */
    int turnEnds(long nanoTime) {
        int measured = calls > 0 ? look(nanoTime) : 0;
        elapsed = nanoTime - began;
        busyNs += elapsed;
        isInTurn = false;
        return measured;
    }

    /** How long the next request has waited, in microseconds, as of the last look. */
    long waitedUs() {
        return elapsed / 1_000;
    }

    /** The time of the last look, in nanoseconds of {@link System#nanoTime}. */
    long lookedAt() {
        return began + elapsed;
    }

    /**
     * An inline function has run. Returns 0, or the calls since the last look at the clock, which
     * took {@link #waitedUs} as of the new one.
     */
    int called() {
        return ++calls >= stride ? look(System.nanoTime()) : 0;
    }

    private int look(long nanoTime) {
        long now = nanoTime - began;
        lookCalls = calls;
        long each = (now - elapsed) / lookCalls;
        eachNs = (eachNs * 7 + each) / 8;
        stride = each == 0 ? STRIDE_MAX
                : (int) Math.min(Math.max(LOOK_EVERY_NS / each, 1), STRIDE_MAX);
        elapsed = now;
        calls = 0;
        return lookCalls;
    }

    /** Smoothed time of an inline call; 0 before one was measured. */
    long eachNs() {
        return eachNs;
    }

    /** The time of all turns. */
    long busyNs() {
        return busyNs;
    }
}
