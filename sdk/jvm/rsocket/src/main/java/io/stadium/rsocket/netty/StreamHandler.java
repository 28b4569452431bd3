package io.stadium.rsocket.netty;

import io.stadium.rsocket.connection.CancelScope;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Payload;

/**
 * Receives the events of one stream. All methods run on the connection's event loop and must not
 * block. One object may serve many streams. A {@link Payload} is valid until the method returns.
 */
public interface StreamHandler {
    /** Ignores all events. */
    StreamHandler NONE = new StreamHandler() {};

    /**
     * A value arrives.
     *
     * @param rsocket the connection
     * @param streamId the stream
     * @param payload the value, and whether it is the peer's last one
     */
    default void onPayload(RSocket rsocket, int streamId, Payload payload) {}

    /**
     * The peer completes its side without another value.
     *
     * @param rsocket the connection
     * @param streamId the stream
     */
    default void onComplete(RSocket rsocket, int streamId) {}

    /**
     * The peer grants credit.
     *
     * @param rsocket the connection
     * @param streamId the stream
     * @param n how many more payloads; the sum is {@link RSocket#credit}
     */
    default void onRequestN(RSocket rsocket, int streamId, int n) {}

    /**
     * The peer cancels.
     *
     * @param rsocket the connection
     * @param streamId the stream
     * @param scope the part of the stream that ends
     */
    default void onCancel(RSocket rsocket, int streamId, CancelScope scope) {}

    /**
     * The stream failed and is gone.
     *
     * @param rsocket the connection
     * @param streamId the stream
     * @param code the code of the ERROR frame
     * @param text the text as the payload's data
     */
    default void onError(RSocket rsocket, int streamId, int code, Payload text) {}

    /**
     * The connection ended while the stream was open. Whether the peer processed it is not known.
     *
     * @param rsocket the connection
     * @param streamId the stream
     * @param closed why the connection ended
     */
    default void onClosed(RSocket rsocket, int streamId, Closed closed) {}
}
