package io.stadium.rsocket.connection;

import io.stadium.rsocket.frame.ErrorCode;

/**
 * Why a connection has ended.
 *
 * @param reason the kind of end
 * @param code the code of the ERROR frame that was received or sent, see {@link ErrorCode}
 * @param text the text of that frame
 */
public record Closed(Reason reason, int code, String text) {
    /** The kind of end. */
    public enum Reason {
        /** The peer sent an ERROR on stream 0. */
        PEER,
        /** The peer broke the protocol. The ERROR that reports it to the peer has been written. */
        VIOLATION,
        /** The peer gave no sign of life for the lifetime that SETUP states. */
        KEEPALIVE_TIMEOUT,
        /** No SETUP was accepted in time. */
        SETUP_TIMEOUT,
        /** The peer reads more slowly than the bounds of the transport allow. */
        SLOW_PEER,
        /** This side closed the connection. */
        LOCAL,
        /** The transport ended or failed. */
        TRANSPORT
    }

    @Override
    public String toString() {
        return reason + ", " + ErrorCode.name(code) + ": " + text;
    }
}
