package io.stadium.rpc.client;

import io.stadium.rpc.Cancelled;
import java.util.Objects;

/**
 * A channel: the caller sends requests and reads answers, each at its own pace.
 *
 * <p>Requests leave as the service gives credit. Up to 1,024 may wait for that; then the sender
 * waits. Requests may be sent from several threads.
 *
 * @param <Q> requests
 * @param <A> answers
 */
public final class RpcChannel<Q, A> implements AutoCloseable {
    private final RpcClient client;
    private final ChannelCall<Q, A> call;
    private final RpcStream<A> answers;

    RpcChannel(RpcClient client, ChannelCall<Q, A> call, RpcStream<A> answers) {
        this.client = client;
        this.call = call;
        this.answers = answers;
    }

    /**
     * The answers.
     *
     * @return the same stream each time
     */
    public RpcStream<A> answers() {
        return answers;
    }

    /**
     * Sends a request. It waits for room.
     *
     * @param request the request, which is encoded later
     * @throws Cancelled the channel has ended, the service takes no more, or the thread was
     *     interrupted, which it is still afterwards: the request is not sent
     */
    public void send(Q request) {
        client.checkMayBlock();
        try {
            Objects.requireNonNull(request, "request");
            if (call.offer(request, ChannelCall.FOREVER) == null) {
                throw RpcClient.traced(new Cancelled());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw RpcClient.traced(new Cancelled());
        }
    }

    /**
     * Sends a request if there is room. It does not wait.
     *
     * @param request the request, which is encoded later
     * @return whether it was taken
     * @throws Cancelled the channel has ended or the service takes no more
     */
    public boolean trySend(Q request) {
        try {
            Boolean taken = call.offer(Objects.requireNonNull(request, "request"), 0);
            if (taken == null) {
                throw RpcClient.traced(new Cancelled());
            }
            return taken;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw RpcClient.traced(new Cancelled());
        }
    }

    /** Ends the requests; the answers go on. */
    public void complete() {
        call.complete();
    }

    /** Gives the channel up; one that has ended is not affected. */
    @Override
    public void close() {
        answers.close();
    }
}
