package io.stadium.rpc;

import java.util.Objects;

/**
 * An error of the service's own, or of a server that is not Stadium's. The service defines its
 * meaning; where it defines none, the work may have been done.
 */
public final class ApplicationError extends RpcException {
    private static final long serialVersionUID = 1L;

    /** The code of RSocket. */
    private final int number;

    /** The text of the ERROR frame. */
    private final String text;

    /**
     * Creates the outcome.
     *
     * @param number the code of the ERROR frame, as an unsigned number
     * @param text the text of the ERROR frame
     */
    public ApplicationError(int number, String text) {
        super(String.format("error 0x%08x: %s", number, text), true);
        this.number = number;
        this.text = Objects.requireNonNull(text, "text");
    }

    /**
     * The code.
     *
     * @return an unsigned number: 0x201, 0x301 to 0xFFFFFFFE, or another one of RSocket
     */
    public int number() {
        return number;
    }

    /**
     * The text.
     *
     * @return as the service sent it
     */
    public String text() {
        return text;
    }
}
