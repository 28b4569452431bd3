package io.stadium.rpc.server;

import io.netty.buffer.Unpooled;
import io.stadium.rpc.server.Service.Kind;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.netty.RSocket;
import java.util.ArrayDeque;
import java.util.concurrent.CancellationException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** A stream or a channel whose function runs on a thread of its own and may block. */
final class BlockingStreamWork extends StreamWork implements Output<Object>, Input<Object> {
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final ArrayDeque<Object> answers = new ArrayDeque<>();
    private final ArrayDeque<byte[]> requests = new ArrayDeque<>(0);

    /** The first request, until a channel's function takes it. */
    private Object first;

    /** Answers that the caller takes beyond those that wait. */
    private int credit;

    private boolean isLastRequest;

    /** Requests that were taken since the caller was last given credit. */
    private int taken;

    /** The function has ended, with what it has thrown or {@code null}. */
    private boolean isReturned;

    private Throwable failure;
    private boolean isOver;

    BlockingStreamWork(
            ServerLoop loop, ServerConnection connection, int streamId, Route route,
            StartedCall call, long beganNanos, long deadlineNanos, int credit, Object request,
            boolean isLastRequest) {
        super(loop, connection, streamId, route, call, beganNanos, deadlineNanos);
        this.credit = credit;
        this.first = request;
        this.isLastRequest = isLastRequest;
    }

    @Override
    void start() {
        try {
            loop.streamWorkers().execute(this::run);
        } catch (RejectedExecutionException e) {
            refuse(Refusal.busy(loop.retryAfterMs(), "all threads for streams are in use"));
            return;
        }
        if (route.kind == Kind.CHANNEL && !isLastRequest) {
            // The first request came with the channel itself; credit is for those after it.
            connection.rsocket().requestN(streamId, WAITING_MAX);
        }
    }

    private void run() {
        if (call.isCancelled()) {
            return;
        }
        try {
            if (route.kind == Kind.CHANNEL) {
                Functions.Channel<Object, Object> function = route.function();
                function.call(call, this, this);
            } else {
                Functions.Streaming<Object, Object> function = route.function();
                Object request = first;
                first = null;
                function.call(call, request, this);
            }
            returned(null);
        } catch (Throwable e) {
            returned(e);
        }
    }

    /** Answers that were sent leave before the end. */
    private void returned(Throwable thrown) {
        lock.lock();
        try {
            failure = thrown;
            isReturned = true;
        } finally {
            lock.unlock();
        }
        schedulePump();
    }

    @Override
    public void send(Object answer) throws InterruptedException {
        if (answer == null) {
            throw new NullPointerException("an answer is not null");
        }
        lock.lockInterruptibly();
        try {
            while (!isOver && (credit == 0 || answers.size() >= WAITING_MAX)) {
                changed.await();
            }
            checkOver();
            credit = take(credit);
            answers.addLast(answer);
        } finally {
            lock.unlock();
        }
        schedulePump();
    }

    @Override
    public boolean isReady() {
        lock.lock();
        try {
            return !isOver && credit > 0 && answers.size() < WAITING_MAX;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public Object next() throws InterruptedException, Refusal {
        byte[] request;
        int give = 0;
        lock.lockInterruptibly();
        try {
            if (first != null) {
                Object one = first;
                first = null;
                return one;
            }
            while (!isOver && requests.isEmpty() && !isLastRequest) {
                changed.await();
            }
            checkOver();
            request = requests.pollFirst();
            if (request != null && ++taken >= WAITING_MAX / 2 && !isLastRequest) {
                give = taken;
                taken = 0;
            }
        } finally {
            lock.unlock();
        }
        if (give > 0) {
            int n = give;
            loop.execute(() -> {
                if (!isEnded()) {
                    connection.rsocket().requestN(streamId, n);
                }
            });
        }
        return request == null ? null : decode(request);
    }

    private Object decode(byte[] request) throws Refusal {
        try {
            return Dispatcher.read(route.requests, Unpooled.wrappedBuffer(request));
        } catch (Refusal e) {
            // Requests before this one may have had their effect.
            throw Refusal.unknown("RPC-004", "a message of the channel does not decode");
        }
    }

    private void checkOver() {
        if (isOver) {
            throw new CancellationException("the caller takes no more answers");
        }
    }

    @Override
    Object nextAnswer() {
        lock.lock();
        try {
            Object answer = answers.pollFirst();
            changed.signalAll();
            return answer;
        } finally {
            lock.unlock();
        }
    }

    @Override
    void emptied() {
        boolean isDone;
        lock.lock();
        try {
            isDone = isReturned && answers.isEmpty();
        } finally {
            lock.unlock();
        }
        if (!isDone) {
            return;
        }
        if (failure == null) {
            complete();
        } else if (!call.isCancelled()) {
            refuse(refusalOf(route, failure));
        }
    }

    @Override
    void credit(int n) {
        lock.lock();
        try {
            credit = add(credit, n);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    void end(Outcome outcome) {
        super.end(outcome);
        lock.lock();
        try {
            isOver = true;
            answers.clear();
            requests.clear();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void onPayload(RSocket rsocket, int stream, Payload payload) {
        lock.lock();
        try {
            if (!isOver) {
                requests.addLast(payload.dataBytes());
            }
            isLastRequest |= payload.isComplete();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void onComplete(RSocket rsocket, int stream) {
        lock.lock();
        try {
            isLastRequest = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
