package io.stadium.rpc.server;

import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.SendResult;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.netty.RSocket;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A stream or a channel: answers leave as the caller gives credit and its connection takes them.
 *
 * <p>Answers come from any thread into a queue of the subclass; {@link #pump} sends them on the
 * loop.
 */
abstract class StreamWork extends Work {
    /**
     * Answers of a stream that wait to be sent, and requests of a channel that wait to be taken.
     * Sixty-four cover a change of threads; more only delays the sender.
     */
    static final int WAITING_MAX = 64;

    /** More credit than this is without end. */
    private static final int UNLIMITED = Integer.MAX_VALUE;

    private final AtomicBoolean isPumpDue = new AtomicBoolean();
    private boolean isDeferred;

    StreamWork(
            ServerLoop loop, ServerConnection connection, int streamId, Route route,
            StartedCall call, long beganNanos, long deadlineNanos) {
        super(loop, connection, streamId, route, call, beganNanos, deadlineNanos);
    }

    /** Has the function begin. */
    abstract void start();

    /** The next answer, or {@code null} if none waits. */
    abstract Object nextAnswer();

    /** Nothing waits to be sent: completes the stream if the function has ended. */
    abstract void emptied();

    /** The caller takes more answers. */
    abstract void credit(int n);

    /** Adds credit to what is left of it. */
    static int add(int credit, int n) {
        return credit > UNLIMITED - n ? UNLIMITED : credit + n;
    }

    /** What is left of the credit after one answer. */
    static int take(int credit) {
        return credit == UNLIMITED ? credit : credit - 1;
    }

    /** Any thread: answers wait, or the function has ended. */
    void schedulePump() {
        if (isPumpDue.compareAndSet(false, true)) {
            loop.executeLater(this::pump);
        }
    }

    private void pump() {
        isPumpDue.set(false);
        if (isEnded() || isDeferred) {
            return;
        }
        loop.turnBegins();
        for (int sent = 0; sent < WAITING_MAX; sent++) {
            if (!connection.rsocket().isWritable()) {
                isDeferred = true;
                connection.defer(this);
                return;
            }
            Object answer = nextAnswer();
            if (answer == null) {
                emptied();
                return;
            }
            if (!send(answer)) {
                return;
            }
        }
        schedulePump();
    }

    private boolean send(Object answer) {
        try {
            SendResult result = connection.rsocket().payload(
                    streamId, Completion.OPEN, null, answer, route.answers);
            if (result == SendResult.TOO_LARGE) {
                refuse(Refusal.answerTooLarge());
            }
            return result == SendResult.SENT;
        } catch (RuntimeException e) {
            refuse(refusalOf(route, e));
            return false;
        }
    }

    @Override
    void writable() {
        isDeferred = false;
        pump();
    }

    /** The function has sent its last answer. */
    void complete() {
        if (isEnded()) {
            return;
        }
        connection.rsocket().complete(streamId);
        if (route.interaction == Interaction.REQUEST_CHANNEL) {
            // A caller that still sends is notified that nobody listens.
            connection.rsocket().cancel(streamId);
        }
        end(Outcome.OK);
    }

    @Override
    public void onRequestN(RSocket rsocket, int stream, int n) {
        credit(n);
    }
}
