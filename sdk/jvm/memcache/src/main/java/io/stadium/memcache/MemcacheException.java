package io.stadium.memcache;

/**
 * An operation that failed.
 *
 * <p>{@link #mayHaveHappened} separates the failures after which a write may have happened, now or
 * later, from those after which it did not. An exception is made where the connection is driven and
 * has no stack trace of its own. Blocking forms give it the trace of their caller.
 */
public abstract sealed class MemcacheException extends RuntimeException
        permits BadFlags, BadKey, Busy, ClientError, DamagedValue, DeadlineExceeded, Disconnected,
        FormatError, Interrupted, NeedsMeta, NotAuthenticated, ProtocolError, ServerError, TooLarge,
        Uncertain {
    private static final long serialVersionUID = 1L;

    /** True where a write may have happened. */
    private final boolean mayHaveHappened;

    MemcacheException(String message, boolean mayHaveHappened) {
        super(message);
        this.mayHaveHappened = mayHaveHappened;
    }

    /**
     * True where a write may have happened, now or later.
     *
     * @return {@code false} where it is certain that it did not
     */
    public final boolean mayHaveHappened() {
        return mayHaveHappened;
    }

    /**
     * True where the server or the network is the cause rather than this operation: another server
     * may do better.
     *
     * @return {@code true} for {@link DeadlineExceeded}, {@link Disconnected},
     *     {@link NotAuthenticated} and {@link ProtocolError}
     */
    public final boolean isOfServer() {
        return this instanceof DeadlineExceeded || this instanceof Disconnected
                || this instanceof NotAuthenticated || this instanceof ProtocolError;
    }

    /** Leaves the trace empty: that of the thread that drives says nothing about the call. */
    @Override
    public final synchronized Throwable fillInStackTrace() {
        return this;
    }
}
