package io.stadium.rpc.client;

/**
 * The times at which calls are due, in a hashed wheel of ticks of 1,024 microseconds.
 *
 * <p>A call is a link of its bucket's list, so that arming and disarming cost no allocation and no
 * search. A call that is due after more than a turn of the wheel waits in its bucket. Times are
 * microseconds.
 */
final class TimerWheel {
    /** No time. */
    static final long NEVER = Long.MAX_VALUE;

    /** {@link Call#tick} of a call that is not in the wheel. */
    static final long UNARMED = -1;

    private static final int TICK_SHIFT = 10;

    /** A turn is 8.4 seconds: usual deadlines are within one. */
    private static final int BUCKETS = 8_192;

    private final Call[] heads = new Call[BUCKETS];

    /** A bit for each bucket that has calls. */
    private final long[] occupied = new long[BUCKETS / 64];

    /** The last tick that has been looked at. */
    private long present;

    TimerWheel(long nowUs) {
        present = nowUs >> TICK_SHIFT;
    }

    /** Arms a call that is not armed. Returns the time at which it will be due. */
    long arm(Call call, long atUs) {
        long tick = Math.max((atUs >> TICK_SHIFT) + 1, present + 1);
        int bucket = (int) tick & BUCKETS - 1;
        Call head = heads[bucket];
        call.tick = tick;
        call.next = head;
        if (head == null) {
            occupied[bucket >> 6] |= 1L << bucket;
        } else {
            head.previous = call;
        }
        heads[bucket] = call;
        return tick << TICK_SHIFT;
    }

    /** Disarms a call, if it is armed. */
    void disarm(Call call) {
        if (call.tick == UNARMED) {
            return;
        }
        Call previous = call.previous;
        Call next = call.next;
        if (next != null) {
            next.previous = previous;
        }
        if (previous != null) {
            previous.next = next;
        } else {
            int bucket = (int) call.tick & BUCKETS - 1;
            heads[bucket] = next;
            if (next == null) {
                occupied[bucket >> 6] &= ~(1L << bucket);
            }
        }
        call.tick = UNARMED;
        call.previous = null;
        call.next = null;
    }

    /** Takes a call that is due, and disarms it; {@code null} where no more are due. */
    Call poll(long nowUs) {
        long now = nowUs >> TICK_SHIFT;
        while (true) {
            long tick = nextOccupied(now);
            if (tick > now) {
                present = Math.max(present, now - 1);
                return null;
            }
            for (Call call = heads[(int) tick & BUCKETS - 1]; call != null; call = call.next) {
                if (call.tick <= now) {
                    disarm(call);
                    return call;
                }
            }
            // All of them are due after a turn.
            present = tick;
        }
    }

    /** The time of the next tick that has calls, or {@link #NEVER}. */
    long nextUs() {
        long tick = nextOccupied(present + BUCKETS);
        return tick > present + BUCKETS ? NEVER : tick << TICK_SHIFT;
    }

    /** Any call that is armed, or {@code null}. */
    Call any() {
        long tick = nextOccupied(present + BUCKETS);
        return tick > present + BUCKETS ? null : heads[(int) tick & BUCKETS - 1];
    }

    /** The first tick after the present one whose bucket has calls; beyond a limit any later. */
    private long nextOccupied(long limit) {
        long most = Math.min(limit, present + BUCKETS);
        long tick = present + 1;
        while (tick <= most) {
            int bucket = (int) tick & BUCKETS - 1;
            long bits = occupied[bucket >> 6] >>> bucket;
            if (bits != 0) {
                return tick + Long.numberOfTrailingZeros(bits);
            }
            tick += 64 - (bucket & 63);
        }
        return Long.MAX_VALUE;
    }
}
