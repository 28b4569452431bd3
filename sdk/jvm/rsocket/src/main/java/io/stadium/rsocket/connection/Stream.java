package io.stadium.rsocket.connection;

import io.stadium.rsocket.frame.Frame;
import io.stadium.rsocket.frame.Interaction;

/** One open stream. {@link Streams} reuses the object for a later stream. */
final class Stream {
    /** This side sent the request. */
    static final int REQUESTER = 1;

    /** This side sends no more values. */
    static final int SENT_ALL = 2;

    /** The peer sends no more values. */
    static final int RECEIVED_ALL = 4;

    /** Fragments of a payload are being reassembled, in {@link #partial}. */
    static final int REASSEMBLING = 8;

    /** The listener does not know of this request yet. */
    static final int UNDELIVERED = 16;

    int id;
    Interaction interaction;
    int state;

    /** Payloads that the peer lets this side send. {@link Frame#REQUEST_N_MAX} is unlimited. */
    int credit;

    /** Payloads that this side lets the peer send. {@link Frame#REQUEST_N_MAX} is unlimited. */
    int demand;

    /** The driver's object. */
    Object attachment;

    /** The unfinished payload, while {@link #REASSEMBLING} is set. */
    Partial partial;

    Stream begin(int id, Interaction interaction, int state, int credit, int demand,
            Object attachment) {
        this.id = id;
        this.interaction = interaction;
        this.state = state;
        this.credit = credit;
        this.demand = demand;
        this.attachment = attachment;
        return this;
    }

    boolean has(int bits) {
        return (state & bits) != 0;
    }

    void set(int bits) {
        state |= bits;
    }

    void clear(int bits) {
        state &= ~bits;
    }

    boolean isRequester() {
        return (state & REQUESTER) != 0;
    }

    /** Whether nothing more can be sent or received. */
    boolean isOver() {
        return (state & (SENT_ALL | RECEIVED_ALL)) == (SENT_ALL | RECEIVED_ALL);
    }

    /** Adds to a credit or a demand. The sum stops at its greatest value. */
    static int add(int sum, int n) {
        int added = sum + n;
        return added < 0 ? Frame.REQUEST_N_MAX : added;
    }

    /** Takes one of a credit or a demand that is not 0. */
    static int take(int sum) {
        return sum == Frame.REQUEST_N_MAX ? sum : sum - 1;
    }
}
