package io.stadium.rpc.server;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Flow;

/** A stream of a publisher's elements, which is asked for no more than the caller takes. */
final class PublisherWork extends StreamWork implements Flow.Subscriber<Object> {
    private final Object request;

    /** Elements that have come; no more than were asked for. */
    private final Queue<Object> answers = new ConcurrentLinkedQueue<>();

    /** Written before the pump is scheduled that reads it. */
    private volatile boolean isComplete;

    private volatile Throwable failure;

    /** Fields from here on belong to the loop. */
    private Flow.Subscription subscription;

    /** Elements that were asked for and not sent. */
    private int asked;

    /** Answers that the caller takes, those that were asked for included. */
    private int credit;

    PublisherWork(
            ServerLoop loop, ServerConnection connection, int streamId, Route route,
            StartedCall call, long beganNanos, long deadlineNanos, int credit, Object request) {
        super(loop, connection, streamId, route, call, beganNanos, deadlineNanos);
        this.credit = credit;
        this.request = request;
    }

    @Override
    void start() {
        Functions.Publishing<Object, Object> function = route.function();
        try {
            @SuppressWarnings("unchecked")
            Flow.Publisher<Object> publisher =
                    (Flow.Publisher<Object>) function.call(call, request);
            publisher.subscribe(this);
        } catch (Throwable e) {
            refuse(refusalOf(route, e));
        }
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
        loop.execute(() -> {
            if (isEnded() || subscription != null) {
                given.cancel();
            } else {
                subscription = given;
                ask();
            }
        });
    }

    @Override
    public void onNext(Object answer) {
        answers.add(answer);
        schedulePump();
    }

    @Override
    public void onError(Throwable thrown) {
        failure = thrown;
        isComplete = true;
        schedulePump();
    }

    @Override
    public void onComplete() {
        isComplete = true;
        schedulePump();
    }

    /** Asks for more when half of what may wait was sent. */
    private void ask() {
        int more = Math.min(credit, WAITING_MAX) - asked;
        if (subscription != null && !isComplete && more > 0
                && (asked == 0 || more >= WAITING_MAX / 2)) {
            asked += more;
            subscription.request(more);
        }
    }

    @Override
    Object nextAnswer() {
        if (isEnded()) {
            return null;
        }
        Object answer = answers.poll();
        if (answer != null) {
            if (asked == 0) {
                refuse(refusalOf(route, new IllegalStateException(
                        "the publisher has sent more than it was asked for")));
                return null;
            }
            asked--;
            credit = take(credit);
        }
        return answer;
    }

    @Override
    void emptied() {
        if (isEnded()) {
            return;
        }
        // In this order: an element that comes before completion is seen if completion is.
        boolean isDone = isComplete;
        if (!isDone || !answers.isEmpty()) {
            ask();
            if (isDone) {
                schedulePump();
            }
        } else if (failure == null) {
            complete();
        } else {
            refuse(refusalOf(route, failure));
        }
    }

    @Override
    void credit(int n) {
        credit = add(credit, n);
        ask();
    }

    @Override
    void end(Outcome outcome) {
        super.end(outcome);
        answers.clear();
        Flow.Subscription open = subscription;
        if (open != null && !isComplete) {
            open.cancel();
        }
    }
}
