package io.stadium.rpc;

/** The connection broke while the call was under way. The work may have been done. */
public final class ConnectionBroken extends RpcException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the outcome.
     *
     * @param reason why the connection ended
     */
    public ConnectionBroken(String reason) {
        super("the connection broke under the call: " + reason, true);
    }
}
