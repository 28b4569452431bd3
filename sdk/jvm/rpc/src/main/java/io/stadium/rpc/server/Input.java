package io.stadium.rpc.server;

/**
 * The requests of a channel, in the blocking form.
 *
 * @param <Q> requests
 */
public interface Input<Q> {
    /**
     * Waits for the next request. The caller may send 64 requests ahead.
     *
     * @return the request, or {@code null} when the caller has sent its last
     * @throws InterruptedException the thread was interrupted while it waited
     * @throws Refusal the request does not decode; a function that lets it pass ends as Unknown
     * @throws java.util.concurrent.CancellationException the caller cancelled or disconnected, or
     *     the deadline passed
     */
    Q next() throws InterruptedException, Refusal;
}
