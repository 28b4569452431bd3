package io.stadium.rpc.client;

import io.stadium.rpc.Busy;
import io.stadium.rpc.Cancelled;
import io.stadium.rpc.DeadlineExceeded;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unknown;
import io.stadium.rpc.balance.Outcome;
import io.stadium.rpc.balance.RetryRule;
import io.stadium.rpc.wire.Answers;
import io.stadium.rsocket.frame.ErrorCode;

/**
 * How attempts and calls end. A call ends once, here, and its caller is notified.
 *
 * <p>While a connection is read, others may be written to; nothing here reads.
 */
final class CallEnds {
    /** The text of rsocket's own INVALID for an answer above {@code payloadBytesMax}. */
    private static final String ANSWER_TOO_LARGE = "answer is larger than this side takes";

    private final ClientLoop loop;
    private final RetryRule retryRule;

    CallEnds(ClientLoop loop) {
        this.loop = loop;
        retryRule = loop.settings.retryRule();
    }

    static RpcException tooLarge() {
        return new Rejected("RPC-006", "the request is larger than this client sends");
    }

    /** A unary attempt was answered. Returns whether the call still waits for it. */
    boolean answered(Call call, int which) {
        Link link = call.linkOf(which);
        if (link == null) {
            return false;
        }
        long nowUs = loop.nowUs();
        long latencyUs = nowUs - call.sentUsOf(which);
        call.clear(which);
        Route route = call.route;
        route.ofLoop.balancer.ended(link.instance(), Outcome.OK, 0, latencyUs, nowUs);
        link.pool.answered(link);
        link.prove();
        if (route.hedge != null) {
            route.hedge.answered(latencyUs, nowUs);
        }
        return true;
    }

    /** A stream was completed by its service. */
    void completed(Call call) {
        Link link = call.linkOf(0);
        if (link == null) {
            return;
        }
        long nowUs = loop.nowUs();
        call.clear(0);
        link.prove();
        report(call, link.instance(), Outcome.OK, 0, call.sentUs, nowUs);
        end(call, null);
    }

    /** An ERROR frame ended an attempt. */
    void failed(Call call, int which, int code, String text) {
        Link link = call.linkOf(which);
        if (link == null) {
            return;
        }
        link.prove();
        link.pool.answered(link);
        RpcException failure = text.equals(ANSWER_TOO_LARGE) && code == ErrorCode.INVALID
                ? new Unknown("RPC-006", "the answer is larger than this client takes")
                : Answers.read(code, text, call.hasBegun());
        if (failure instanceof Busy busy) {
            attemptFailed(call, which, Outcome.BUSY, Answers.retryAfterMs(busy), failure);
        } else {
            Outcome outcome = failure instanceof DeadlineExceeded
                    ? Outcome.DEADLINE : Outcome.REJECTED;
            attemptFailed(call, which, outcome, 0, failure);
        }
    }

    /** An attempt did not end well: the call is made again, or ends. */
    void attemptFailed(
            Call call, int which, Outcome outcome, long retryAfterMs, RpcException failure) {
        Link link = call.linkOf(which);
        if (link == null) {
            return;
        }
        long nowUs = loop.nowUs();
        call.clear(which);
        call.hasFailedAt(link.instance());
        report(call, link.instance(), outcome, retryAfterMs, call.sentUsOf(which), nowUs);
        if (call.isInFlight()) {
            // The other attempt may still be answered.
            return;
        }
        if (call.hasBegun()) {
            end(call, failure);
            return;
        }
        long atUs = retryRule.decide(
                outcome, retryAfterMs, call.made, call.route.method.isIdempotent(),
                loop.dispatcher.isPossibleElsewhere(call), call.deadlineUs, nowUs,
                call.route.ofLoop.budget, loop.random);
        if (atUs < 0) {
            end(call, failure);
        } else if (atUs == nowUs) {
            loop.dispatcher.dispatch(call, 0);
        } else {
            loop.dispatcher.waitUntil(call, atUs);
        }
    }

    private void report(
            Call call, int instance, Outcome outcome, long retryAfterMs, long sentUs,
            long nowUs) {
        long tookUs = Math.max(nowUs - sentUs, 0);
        if (call.isStream()) {
            call.route.ofLoop.balancer.streamEnded(instance, outcome, retryAfterMs, tookUs, nowUs);
        } else {
            call.route.ofLoop.balancer.ended(instance, outcome, retryAfterMs, tookUs, nowUs);
        }
    }

    /** The deadline of a call has passed. */
    void expire(Call call) {
        drop(call, Outcome.DEADLINE);
        end(call, call.made > 0 ? new DeadlineExceeded() : call.route.ofLoop.unreachable(0));
    }

    /** The caller gives up. */
    void cancel(Call call) {
        if (!call.isEnded) {
            end(call, new Cancelled());
        }
    }

    /** Ends a call that has no answer, or a stream; {@code null} is a good end. */
    void end(Call call, RpcException failure) {
        if (call.isEnded) {
            return;
        }
        close(call, failure);
        if (loop.isNested()) {
            // Its caller is at it: a handler that calls again would call itself without end.
            loop.later(() -> call.onEnd(failure));
        } else {
            call.onEnd(failure);
        }
    }

    /** Forgets a call, and cancels what is under way for it. */
    void close(Call call, RpcException failure) {
        call.isEnded = true;
        loop.wheel.disarm(call);
        if (call.isInFlight()) {
            // What a copy took so far is known; how it would have ended is not.
            drop(call, Outcome.CANCELLED);
        }
        if (loop.hasListener) {
            long tookUs = loop.nowUs() - call.beganUs;
            loop.notify(listener -> listener.onCallEnded(call.route.method.route(), failure,
                    tookUs, call.made));
        }
    }

    /** Cancels the attempts of a call. */
    private void drop(Call call, Outcome outcome) {
        for (int which = 0; which < 2; which++) {
            Link link = call.linkOf(which);
            if (link != null) {
                call.clear(which);
                report(call, link.instance(), outcome, 0, call.sentUsOf(which), loop.nowUs());
                if (!link.isGone) {
                    link.rsocket.cancel(call.streamOf(which));
                }
            }
        }
    }
}
