package io.stadium.api;

/** Thrown by a handler: the job will never work. It is set aside for people. */
public final class Bury extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the error.
     *
     * @param reason for people; the first 1,024 bytes are kept
     */
    public Bury(String reason) {
        super(reason);
    }
}
