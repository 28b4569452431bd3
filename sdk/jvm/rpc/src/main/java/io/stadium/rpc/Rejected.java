package io.stadium.rpc;

/** The service will never do this request. Nothing happened. Do not send it again unchanged. */
public final class Rejected extends CodedException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the outcome.
     *
     * @param code a stable code, such as {@code GEO-001}
     * @param reason what is wrong, with what, and what to do
     */
    public Rejected(String code, String reason) {
        super("rejected", code, reason, false);
    }
}
