package io.stadium.rsocket.connection;

/** Whether the sender's direction of a stream ends with a frame. */
public enum Completion {
    /** More payloads may follow. */
    OPEN,

    /** This is the last payload. */
    COMPLETE
}
