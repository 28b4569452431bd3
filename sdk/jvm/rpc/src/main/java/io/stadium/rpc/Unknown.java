package io.stadium.rpc;

/**
 * The service failed on its way: the work may have been done. Send the request again with the
 * same id.
 */
public final class Unknown extends CodedException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the outcome.
     *
     * @param code a stable code, such as {@code GEO-001}
     * @param reason what is wrong, with what, and what to do
     */
    public Unknown(String code, String reason) {
        super("unknown whether it happened", code, reason, true);
    }
}
