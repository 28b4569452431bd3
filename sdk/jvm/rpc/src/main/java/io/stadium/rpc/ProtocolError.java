package io.stadium.rpc;

/** The service sent something that cannot be understood. The work may have been done. */
public final class ProtocolError extends RpcException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the outcome.
     *
     * @param reason what is wrong with it
     */
    public ProtocolError(String reason) {
        super("the answer cannot be understood: " + reason, true);
    }
}
