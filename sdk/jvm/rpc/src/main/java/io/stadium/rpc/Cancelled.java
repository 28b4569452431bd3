package io.stadium.rpc;

/** The caller gave up, or the client was closed. The work may have been done. */
public final class Cancelled extends RpcException {
    private static final long serialVersionUID = 1L;

    /** Creates the outcome. */
    public Cancelled() {
        super("cancelled", true);
    }
}
