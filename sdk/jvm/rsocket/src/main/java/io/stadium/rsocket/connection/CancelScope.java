package io.stadium.rsocket.connection;

/** The part of a stream that a received CANCEL ends. */
public enum CancelScope {
    /** All of it: the stream is gone. */
    STREAM,

    /** The payloads that this side sends on a channel. Those of the peer go on. */
    SENDING
}
