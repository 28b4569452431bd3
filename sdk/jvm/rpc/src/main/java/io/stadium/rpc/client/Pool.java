package io.stadium.rpc.client;

import io.stadium.rpc.balance.Backoff;
import java.util.ArrayList;
import java.util.List;

/** The connections of a loop to one instance. */
final class Pool {
    /**
     * Answers that a pool of several connections remembers, so that calls follow them. A power of
     * two; the oldest is forgotten.
     */
    private static final int ANSWERED = 4_096;

    final int instance;
    final String address;
    final List<Link> open = new ArrayList<>(1);
    final Backoff backoff = new Backoff(50, 5_000);
    int opening;

    /** When a connection is tried again. */
    long retryUs;

    /** A task that will try again has been scheduled. */
    boolean isRetryScheduled;

    /**
     * Why the last attempt failed or the last connection ended; {@code null} before the first, and
     * while one is up.
     */
    String trouble;

    /** The only connection, where there is one; the usual case. */
    private Link only;

    private int turn;

    /** Connections on which calls were answered, each good for one call: a ring. */
    private Link[] answered;

    private int oldest;
    private int count;

    Pool(int instance, String address) {
        this.instance = instance;
        this.address = address;
    }

    void add(Link link) {
        open.add(link);
        changed();
    }

    void remove(Link link) {
        open.remove(link);
        changed();
    }

    private void changed() {
        only = open.size() == 1 ? open.get(0) : null;
        answered = open.size() > 1 ? new Link[ANSWERED] : null;
        oldest = 0;
        count = 0;
    }

    /**
     * The connection for the next call, or {@code null}: one that has answered and was not used
     * since, otherwise the next in turn. So each keeps its share in flight, and calls that follow
     * the answers of one read leave in one write.
     */
    Link pick() {
        if (only != null) {
            return only;
        }
        if (count > 0) {
            Link link = answered[oldest];
            oldest = oldest + 1 & ANSWERED - 1;
            count--;
            return link;
        }
        if (open.isEmpty()) {
            return null;
        }
        turn = turn + 1 < open.size() ? turn + 1 : 0;
        return open.get(turn);
    }

    /** A call was answered there. */
    void answered(Link link) {
        if (answered == null || link.isClosing) {
            return;
        }
        if (count == ANSWERED) {
            oldest = oldest + 1 & ANSWERED - 1;
            count--;
        }
        answered[oldest + count & ANSWERED - 1] = link;
        count++;
    }
}
