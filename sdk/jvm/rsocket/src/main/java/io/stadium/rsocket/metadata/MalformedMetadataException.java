package io.stadium.rsocket.metadata;

/** Metadata ends before what it announces, or holds text that is not UTF-8. */
public final class MalformedMetadataException extends Exception {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the exception without a stack trace: a peer causes it, not a bug.
     *
     * @param message what is malformed
     */
    public MalformedMetadataException(String message) {
        super(message, null, false, false);
    }
}
