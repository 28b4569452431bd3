package io.stadium.rsocket.connection;

/**
 * Whether a frame was written on a stream. With any other result than {@link #SENT} nothing was
 * written.
 */
public enum SendResult {
    /** The frame was written. */
    SENT,

    /** The peer has to grant credit first. */
    NO_CREDIT,

    /**
     * There is no such stream any more, or this side of it is complete, or its interaction has no
     * such frame.
     */
    UNKNOWN_STREAM,

    /** Metadata and data are larger than the configuration allows. */
    TOO_LARGE
}
