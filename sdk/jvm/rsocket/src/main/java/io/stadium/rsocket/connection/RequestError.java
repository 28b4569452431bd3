package io.stadium.rsocket.connection;

/**
 * Why a request was not sent. Nothing was written, and no stream id was used.
 *
 * <p>{@link Connection#request} returns {@link #result} in place of a stream id, so that a refused
 * request costs no allocation.
 */
public enum RequestError {
    /**
     * There is no lease, or it is used up or over. {@link Connection#leaseRetryAfterMs} says when
     * to retry.
     */
    NO_LEASE,

    /** As many streams of this side are open as {@link Config#streamsMax} allows. */
    STREAMS_MAX,

    /** All stream ids have been used: a new connection is needed (Stream Identifiers, Lifetime). */
    IDS_EXHAUSTED,

    /** Metadata and data are larger than the configuration allows. */
    TOO_LARGE,

    /** The connection takes no requests: it is not set up, is closing, or has ended. */
    CLOSED;

    private static final RequestError[] VALUES = values();

    /**
     * The number that stands for this error in place of a stream id.
     *
     * @return a negative number
     */
    public int result() {
        return -1 - ordinal();
    }

    /**
     * The error of a result of {@link Connection#request}.
     *
     * @param result a negative number
     * @return the error
     */
    public static RequestError of(int result) {
        return VALUES[-1 - result];
    }
}
