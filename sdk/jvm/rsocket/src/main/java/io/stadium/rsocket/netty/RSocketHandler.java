package io.stadium.rsocket.netty;

import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.Setup;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Interaction;

/**
 * The application's side of one connection. All methods run on the connection's event loop and must
 * not block. A {@link Payload} is valid until the method returns.
 */
public interface RSocketHandler {
    /** Accepts every client and rejects every request. */
    RSocketHandler NONE = new RSocketHandler() {};

    /**
     * Server: a client begins. {@link RSocket#accept} or {@link RSocket#refuse} answers, here or
     * later; nothing else is received until then. The default accepts.
     *
     * @param rsocket the connection
     * @param setup the client's SETUP
     */
    default void onSetup(RSocket rsocket, Setup setup) {
        rsocket.accept();
    }

    /**
     * The peer sends a request. All interactions but fire-and-forget need an answer, here or later,
     * by {@link RSocket#payload}, {@link RSocket#complete} or {@link RSocket#error}. The default
     * rejects.
     *
     * @param rsocket the connection
     * @param streamId the new stream; {@link RSocket#handle} sets the receiver of its further
     *     events
     * @param interaction its interaction
     * @param initialRequestN how many payloads may be sent at first
     * @param payload the request
     */
    default void onRequest(
            RSocket rsocket, int streamId, Interaction interaction, int initialRequestN,
                    Payload payload) {
        rsocket.error(streamId, ErrorCode.REJECTED, "this side takes no requests");
    }

    /**
     * Metadata of the connection arrives (METADATA_PUSH).
     *
     * @param rsocket the connection
     * @param metadata the payload's metadata
     */
    default void onMetadataPush(RSocket rsocket, Payload metadata) {}

    /**
     * The peer grants a lease.
     *
     * @param rsocket the connection
     * @param ttlMs milliseconds from now
     * @param requests how many requests may be sent
     */
    default void onLease(RSocket rsocket, int ttlMs, int requests) {}

    /**
     * The outgoing queue reached or left its bound; {@link RSocket#isWritable} tells which. A
     * sender of many payloads pauses while it is not writable.
     *
     * @param rsocket the connection
     */
    default void onWritabilityChanged(RSocket rsocket) {}

    /**
     * The peer takes no more requests, and closes when the open streams have ended.
     *
     * @param rsocket the connection
     * @param text the peer's text
     */
    default void onClosing(RSocket rsocket, String text) {}

    /**
     * The connection has ended. It is called once, after {@link StreamHandler#onClosed} of all
     * streams.
     *
     * @param rsocket the connection
     * @param closed why
     */
    default void onClosed(RSocket rsocket, Closed closed) {}
}
