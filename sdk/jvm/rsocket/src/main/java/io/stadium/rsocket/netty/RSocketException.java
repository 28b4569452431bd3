package io.stadium.rsocket.netty;

import io.stadium.rsocket.frame.ErrorCode;

/** A request that failed with an ERROR frame, was not sent, or whose connection ended. */
public final class RSocketException extends Exception {
    private static final long serialVersionUID = 1L;

    /** The code of the ERROR frame. */
    private final int code;

    /**
     * Creates the exception without a stack trace, which would name the event loop only.
     *
     * @param code the code of the ERROR frame; {@link ErrorCode#REJECTED} where nothing was sent
     *     and {@link ErrorCode#CONNECTION_ERROR} where the connection ended
     * @param text why
     */
    public RSocketException(int code, String text) {
        super(ErrorCode.name(code) + ": " + text, null, false, false);
        this.code = code;
    }

    /**
     * The code.
     *
     * @return one of {@link ErrorCode}, or one of the application
     */
    public int code() {
        return code;
    }
}
