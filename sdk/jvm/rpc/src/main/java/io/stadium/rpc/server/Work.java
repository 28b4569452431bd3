package io.stadium.rpc.server;

import io.stadium.rpc.RpcException;
import io.stadium.rpc.admission.Limiter;
import io.stadium.rpc.admission.WaitingCalls;
import io.stadium.rsocket.connection.CancelScope;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.SendResult;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.StreamHandler;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Future;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A call that outlives the turn in which its request was read. It belongs to its loop, and ends
 * once, in {@link #end}: it is counted then, its place among the calls under way is free, and
 * interceptors are notified.
 */
class Work implements StreamHandler, WaitingCalls.Call {
    private static final Logger LOG = LoggerFactory.getLogger(Work.class);

    final ServerLoop loop;
    final ServerConnection connection;

    /** 0 of a fire-and-forget, which has no stream. */
    final int streamId;

    final Route route;
    final StartedCall call;
    final long beganNanos;

    /** {@link Long#MAX_VALUE} where there is none. */
    final long deadlineNanos;

    /** The place in {@link Deadlines}, or -1. */
    int deadlineIndex = -1;

    /** Since when it waits for the limit, and the bytes of its request. */
    private long waitsSinceUs;

    private byte[] heldRequest;

    private boolean isEntered;
    private long enteredUs;
    private boolean isEnded;

    /** Cancelled with the call. */
    private Future<?> future;

    /** An answer that waits for its connection to take more. */
    private Object deferredAnswer;

    Work(
            ServerLoop loop, ServerConnection connection, int streamId, Route route,
            StartedCall call, long beganNanos, long deadlineNanos) {
        this.loop = loop;
        this.connection = connection;
        this.streamId = streamId;
        this.route = route;
        this.call = call;
        this.beganNanos = beganNanos;
        this.deadlineNanos = deadlineNanos;
    }

    boolean isEnded() {
        return isEnded;
    }

    void entered(long nowUs) {
        isEntered = true;
        enteredUs = nowUs;
    }

    void hold(byte[] request, long nowUs) {
        heldRequest = request;
        waitsSinceUs = nowUs;
    }

    byte[] takeHeldRequest() {
        byte[] request = heldRequest;
        heldRequest = null;
        return request;
    }

    @Override
    public long waitsSinceUs() {
        return waitsSinceUs;
    }

    @Override
    public long deadlineUs() {
        return deadlineNanos == Long.MAX_VALUE ? Long.MAX_VALUE : loop.micros(deadlineNanos);
    }

    /** Cancels the future when the call is cancelled. */
    void cancels(Future<?> pending) {
        future = pending;
    }

    /**
     * Any thread: the function has an answer. One that comes after the deadline or a cancellation
     * is dropped: the call has ended, or the loop's timer ends it.
     */
    void answer(Object answer) {
        if (!call.isCancelled()) {
            loop.execute(() -> finish(answer));
        }
    }

    /**
     * Any thread: the function has failed. A failure after the deadline or a cancellation is
     * dropped, as an answer is.
     */
    void fail(Throwable failure) {
        if (call.isCancelled()) {
            return;
        }
        Refusal refusal = refusalOf(route, failure);
        loop.execute(() -> refuse(refusal));
    }

    /** The refusal for what a function has thrown; a failure is logged. */
    static Refusal refusalOf(Route route, Throwable failure) {
        Throwable cause = failure;
        while (cause instanceof CompletionException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof Refusal refusal) {
            return refusal;
        }
        if (cause instanceof RpcException outcome) {
            return Refusal.of(outcome);
        }
        LOG.error("Function failed: route={}", route.name, cause);
        return Refusal.failed();
    }

    private void finish(Object answer) {
        if (isEnded) {
            return;
        }
        loop.turnBegins();
        if (streamId == 0) {
            end(Outcome.OK);
        } else if (answer == null && route.answers != null) {
            fail(new NullPointerException("the function answered null"));
        } else if (!connection.isWritable()) {
            deferredAnswer = answer;
            connection.defer(this);
        } else {
            send(answer);
        }
    }

    /** The connection takes more: the answer that waited leaves. */
    void writable() {
        Object answer = deferredAnswer;
        deferredAnswer = null;
        if (!isEnded && answer != null) {
            send(answer);
        }
    }

    private void send(Object answer) {
        SendResult result;
        try {
            result = connection.rsocket().payload(
                    streamId, Completion.COMPLETE, null, answer, route.answers);
        } catch (RuntimeException e) {
            refuse(refusalOf(route, e));
            return;
        }
        if (result == SendResult.TOO_LARGE) {
            refuse(Refusal.answerTooLarge());
        } else {
            end(Outcome.OK);
        }
    }

    /** Ends the call with an error. */
    void refuse(Refusal refusal) {
        if (isEnded) {
            return;
        }
        loop.turnBegins();
        if (streamId != 0) {
            connection.rsocket().error(streamId, refusal.errorCode(), refusal.text());
        }
        end(refusal.outcome());
    }

    /** The deadline has passed. */
    void expire() {
        refuse(Refusal.expired("the deadline passed before the service had an answer"));
    }

    /** Counts the end and frees the call's place. */
    void end(Outcome outcome) {
        if (isEnded) {
            return;
        }
        isEnded = true;
        loop.ended(this, outcome);
        if (isEntered) {
            boolean isDone = outcome == Outcome.OK || outcome == Outcome.FAILED
                    || outcome == Outcome.EXPIRED;
            loop.left(enteredUs, isDone ? Limiter.Work.DONE : Limiter.Work.ABANDONED);
        }
        boolean isCancelled = outcome == Outcome.CANCELLED || outcome == Outcome.EXPIRED;
        call.end(isCancelled);
        if (isCancelled && future != null) {
            future.cancel(false);
        }
        future = null;
        heldRequest = null;
        deferredAnswer = null;
    }

    private void cancel() {
        if (!isEnded) {
            loop.turnBegins();
            end(Outcome.CANCELLED);
        }
    }

    @Override
    public void onCancel(RSocket rsocket, int stream, CancelScope scope) {
        cancel();
    }

    @Override
    public void onError(RSocket rsocket, int stream, int code, Payload text) {
        cancel();
    }

    @Override
    public void onClosed(RSocket rsocket, int stream, Closed closed) {
        cancel();
    }
}
