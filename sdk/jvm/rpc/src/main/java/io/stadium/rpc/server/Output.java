package io.stadium.rpc.server;

/**
 * The answers of a stream or a channel, in the blocking form.
 *
 * @param <A> answers
 */
public interface Output<A> {
    /**
     * Sends an answer. It waits while the caller has given no credit, or takes more slowly than the
     * function sends; so it never holds more than 64 answers.
     *
     * @param answer the answer, which must not change afterwards
     * @throws InterruptedException the thread was interrupted while it waited; nothing was sent
     * @throws java.util.concurrent.CancellationException the caller takes no more answers: it
     *     cancelled or disconnected, or the deadline passed
     */
    void send(A answer) throws InterruptedException;

    /**
     * Whether an answer can be sent without waiting.
     *
     * @return whether there is credit and room now
     */
    boolean isReady();
}
