package io.stadium.rpc.server;

import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;

/**
 * The kinds of functions that answer methods. Usually they are lambdas. A function declines by a
 * {@link Refusal}. Any other exception is logged, and answered Unknown, {@code RPC-007}, without
 * details.
 */
public final class Functions {
    private Functions() {}

    /**
     * Answers one request with one answer, or a one-way request with {@code null}.
     *
     * @param <Q> requests
     * @param <A> answers
     */
    @FunctionalInterface
    public interface Unary<Q, A> {
        /**
         * Answers a request.
         *
         * @param call what is known of the call
         * @param request the request
         * @return the answer, not {@code null} unless the method is one-way
         * @throws Exception a {@link Refusal}, or a failure
         */
        A call(Call call, Q request) throws Exception;
    }

    /**
     * Answers one request later.
     *
     * @param <Q> requests
     * @param <A> answers
     */
    @FunctionalInterface
    public interface Asynchronous<Q, A> {
        /**
         * Begins to answer a request, on the event loop. It must not block.
         *
         * @param call what is known of the call
         * @param request the request
         * @return the answer to come. A {@link java.util.concurrent.CompletableFuture} is cancelled
         *     when the call is
         * @throws Exception a {@link Refusal}, or a failure
         */
        CompletionStage<? extends A> call(Call call, Q request) throws Exception;
    }

    /**
     * Answers one request with a stream, on a thread that may block.
     *
     * @param <Q> requests
     * @param <A> answers
     */
    @FunctionalInterface
    public interface Streaming<Q, A> {
        /**
         * Sends the answers. The stream is complete when the method returns.
         *
         * @param call what is known of the call
         * @param request the request
         * @param answers takes the answers
         * @throws Exception a {@link Refusal}, or a failure
         */
        void call(Call call, Q request, Output<A> answers) throws Exception;
    }

    /**
     * Answers one request with the elements of a publisher.
     *
     * @param <Q> requests
     * @param <A> answers
     */
    @FunctionalInterface
    public interface Publishing<Q, A> {
        /**
         * Makes the publisher, on the event loop. It must not block. The publisher is asked for
         * elements as the caller gives credit, and cancelled with the call.
         *
         * @param call what is known of the call
         * @param request the request
         * @return a publisher, which is subscribed to once
         * @throws Exception a {@link Refusal}, or a failure
         */
        Flow.Publisher<? extends A> call(Call call, Q request) throws Exception;
    }

    /**
     * Answers a stream of requests with a stream, on a thread that may block.
     *
     * @param <Q> requests
     * @param <A> answers
     */
    @FunctionalInterface
    public interface Channel<Q, A> {
        /**
         * Takes the requests and sends the answers. The channel is complete when the method
         * returns.
         *
         * @param call what is known of the call
         * @param requests gives the requests, the first one included
         * @param answers takes the answers
         * @throws Exception a {@link Refusal}, or a failure
         */
        void call(Call call, Input<Q> requests, Output<A> answers) throws Exception;
    }
}
