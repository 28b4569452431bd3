package io.stadium.rpc.client;

import io.stadium.rpc.Cancelled;
import io.stadium.rpc.ConnectionBroken;
import io.stadium.rpc.balance.Outcome;
import io.stadium.rsocket.connection.Closed;
import java.util.ArrayDeque;

/**
 * Calls of connections that ended fail some in each turn of the loop, so that the client's other
 * connections are served in between.
 */
final class Broken {
    /** Calls that fail in one turn: two or three milliseconds of work. */
    private static final int CALLS_A_TURN = 1_000;

    private final ClientLoop loop;
    private final ArrayDeque<Lost> lost = new ArrayDeque<>();

    private record Lost(Call call, int which, Link link, int streamId, Closed closed) {}

    Broken(ClientLoop loop) {
        this.loop = loop;
    }

    /** An attempt's connection has ended. */
    void add(Call call, int which, Link link, int streamId, Closed closed) {
        if (loop.isClosing) {
            loop.answers.end(call, new Cancelled());
            return;
        }
        if (lost.isEmpty()) {
            loop.later(this::fail);
        }
        lost.add(new Lost(call, which, link, streamId, closed));
    }

    private void fail() {
        for (int left = CALLS_A_TURN; left > 0; left--) {
            Lost one = lost.poll();
            if (one == null) {
                return;
            }
            Call call = one.call;
            boolean isUnderWay = !call.isEnded && one.link != null
                    && call.linkOf(one.which) == one.link
                    && call.streamOf(one.which) == one.streamId;
            if (isUnderWay) {
                loop.answers.attemptFailed(call, one.which, Outcome.BROKEN, 0,
                        new ConnectionBroken(one.closed.toString()));
            }
        }
        if (!lost.isEmpty()) {
            loop.later(this::fail);
        }
    }
}
