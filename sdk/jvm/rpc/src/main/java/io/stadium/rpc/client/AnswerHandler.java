package io.stadium.rpc.client;

import io.stadium.rpc.RpcException;

/**
 * Receives the outcome of a unary call: one of the two methods is called once.
 *
 * <p>It is called on an event loop of the client and must not block. It may make calls. One handler
 * may serve many calls.
 *
 * @param <A> answers
 */
public interface AnswerHandler<A> {
    /**
     * The call was answered.
     *
     * @param answer the answer
     */
    void onAnswer(A answer);

    /**
     * The call has no answer.
     *
     * @param failure why
     */
    void onFailure(RpcException failure);
}
