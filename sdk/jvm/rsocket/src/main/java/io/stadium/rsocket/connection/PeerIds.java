package io.stadium.rsocket.connection;

import io.stadium.rsocket.frame.Frame;

/**
 * The stream ids that a peer has used (Stream Identifiers).
 *
 * <p>A requester that sends from several threads may send its newest ids in another order than it
 * took them: the newest 64 are remembered, older ones count as used, and gaps are allowed. A
 * requester that has used its last id begins again with its lowest. From then on only ids of open
 * streams and the newest 64 are refused.
 */
final class PeerIds {
    private int highest;

    /** Bit n: the peer has used the n-th of its ids below {@code highest}, counted from itself. */
    private long used;

    private boolean again;

    /** The result of {@link #use}. */
    enum Use {
        ALLOWED,
        REUSED
    }

    /**
     * Notes that the peer opens a stream.
     *
     * @param id the stream, of the peer's parity
     * @param isOpen whether a stream of that id is open
     */
    Use use(int id, boolean isOpen) {
        if (again && isOpen) {
            return Use.REUSED;
        }
        if (id > highest) {
            int distance = (id - highest + 1) >>> 1;
            used = distance < 64 ? used << distance | 1 : 1;
            highest = id;
            return Use.ALLOWED;
        }
        int distance = (highest - id) >>> 1;
        if (distance < 64) {
            long bit = 1L << distance;
            if ((used & bit) != 0) {
                return Use.REUSED;
            }
            used |= bit;
            return Use.ALLOWED;
        }
        boolean beginsAgain = highest > Frame.STREAM_ID_MAX - 128 && id < Frame.STREAM_ID_MAX / 2;
        if (!beginsAgain || isOpen) {
            return Use.REUSED;
        }
        highest = id;
        used = 1;
        again = true;
        return Use.ALLOWED;
    }
}
