package io.stadium.rsocket.connection;

import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Interaction;

/**
 * Receives the events of one {@link Connection}, in the order of the peer's frames.
 *
 * <p>The connection calls a listener from {@link Connection#receive} and {@link Connection#advance}
 * only. A listener may call the connection's sending methods, but neither of these two. A
 * {@link Payload} is valid until the method returns. {@code attachment} is the object that the
 * driver gave the stream.
 */
public interface Listener {
    /**
     * Server: a client begins. Nothing else is received until {@link Connection#accept} or
     * {@link Connection#refuse} is called, in this method or later.
     *
     * @param setup the client's SETUP
     */
    void onSetup(Setup setup);

    /**
     * The peer sends a request. All interactions but fire-and-forget need an answer.
     *
     * @param streamId the new stream
     * @param interaction its interaction
     * @param initialRequestN how many payloads may be sent at first: 1 for request-response, 0 for
     *     fire-and-forget
     * @param payload the request; it is not complete only where a channel's requester sends more
     */
    void onRequest(int streamId, Interaction interaction, int initialRequestN, Payload payload);

    /**
     * A value arrives.
     *
     * @param streamId the stream; it is gone if both sides are complete
     * @param attachment the stream's attachment
     * @param payload the value, and whether it is the last one
     */
    void onPayload(int streamId, Object attachment, Payload payload);

    /**
     * The peer completes its side without another value.
     *
     * @param streamId the stream; it is gone if both sides are complete
     * @param attachment the stream's attachment
     */
    void onComplete(int streamId, Object attachment);

    /**
     * The peer grants credit.
     *
     * @param streamId the stream
     * @param attachment the stream's attachment
     * @param n how many more payloads; the sum is {@link Connection#credit}
     */
    void onRequestN(int streamId, Object attachment, int n);

    /**
     * The peer cancels.
     *
     * @param streamId the stream
     * @param attachment the stream's attachment
     * @param scope the part of the stream that ends
     */
    void onCancel(int streamId, Object attachment, CancelScope scope);

    /**
     * The stream failed and is gone.
     *
     * @param streamId the stream
     * @param attachment the stream's attachment
     * @param code the code, see {@link ErrorCode}
     * @param text the text as the payload's data, UTF-8 by convention
     */
    void onError(int streamId, Object attachment, int code, Payload text);

    /**
     * Metadata of the connection arrives.
     *
     * @param metadata the payload's metadata
     */
    void onMetadataPush(Payload metadata);

    /**
     * The peer grants a lease. It replaces what is left of an earlier one.
     *
     * @param ttlMs milliseconds from now
     * @param requests how many requests may be sent
     */
    void onLease(int ttlMs, int requests);

    /**
     * The peer takes no more requests, and closes when the open streams have ended
     * (CONNECTION_CLOSE).
     *
     * @param text the peer's text
     */
    void onClosing(String text);

    /**
     * The connection has ended. The driver writes what has been appended to its buffer and closes
     * the transport. {@link Connection#forEachStream} names the streams that failed with it.
     *
     * @param closed why
     */
    void onClosed(Closed closed);
}
