package io.stadium.rsocket.connection;

/**
 * The leases of both directions (Lease Semantics). They exist on a connection whose SETUP has the L
 * flag. A requester counts its requests down; the responder counts too, and rejects those beyond.
 */
final class Leases {
    /** What the peer lets this side send. */
    final Grant ours = new Grant();

    /** What this side lets the peer send. */
    final Grant peers = new Grant();

    /** What is left of a lease. */
    static final class Grant {
        private long untilMs;
        private int requests;

        void set(long untilMs, int requests) {
            this.untilMs = untilMs;
            this.requests = requests;
        }

        boolean allows(long nowMs) {
            return nowMs < untilMs && requests > 0;
        }

        /** Counts one request. Returns whether the lease allows it. */
        boolean take(long nowMs) {
            if (!allows(nowMs)) {
                return false;
            }
            requests--;
            return true;
        }

        /** After how many milliseconds the lease is over; 0 if there is none. */
        int retryAfterMs(long nowMs) {
            return (int) Math.max(0, untilMs - nowMs);
        }

        private void advance(long nowMs) {
            if (nowMs >= untilMs) {
                set(0, 0);
            }
        }

        private long deadlineMs() {
            return requests > 0 ? untilMs : Long.MAX_VALUE;
        }
    }

    /** Forgets leases that are over. */
    void advance(long nowMs) {
        ours.advance(nowMs);
        peers.advance(nowMs);
    }

    /** When the next lease that still allows something is over. */
    long deadlineMs() {
        return Math.min(ours.deadlineMs(), peers.deadlineMs());
    }
}
