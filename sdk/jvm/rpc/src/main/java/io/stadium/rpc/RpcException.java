package io.stadium.rpc;

/**
 * A call that has no answer.
 *
 * <p>{@link #mayHaveHappened} separates the outcomes that promise that nothing happened
 * ({@link Busy}, {@link Rejected}, {@link Unavailable}) from those after which the work may have
 * been done, whole or in part. An exception is made on an event loop and has no stack trace of its
 * own. Blocking forms of a call give it the trace of their caller.
 */
public abstract class RpcException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** Whether the work may have been done. */
    private final boolean mayHaveHappened;

    /**
     * Creates an outcome.
     *
     * @param message what happened
     * @param mayHaveHappened whether the work may have been done
     */
    protected RpcException(String message, boolean mayHaveHappened) {
        super(message);
        this.mayHaveHappened = mayHaveHappened;
    }

    /**
     * Whether the service may have done the work, whole or in part.
     *
     * @return {@code false} where it is certain that nothing happened
     */
    public final boolean mayHaveHappened() {
        return mayHaveHappened;
    }

    /** Leaves the trace empty: that of an event loop says nothing about the call. */
    @Override
    public final synchronized Throwable fillInStackTrace() {
        return this;
    }
}
