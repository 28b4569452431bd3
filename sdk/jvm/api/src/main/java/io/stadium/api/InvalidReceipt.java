package io.stadium.api;

/** The receipt proves nothing under the roots that were given. */
public final class InvalidReceipt extends IllegalArgumentException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the error.
     *
     * @param message what is wrong
     */
    InvalidReceipt(String message) {
        super(message);
    }
}
