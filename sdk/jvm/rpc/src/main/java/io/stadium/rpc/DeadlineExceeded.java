package io.stadium.rpc;

/** The deadline passed before an answer came. The work may have been done. */
public final class DeadlineExceeded extends RpcException {
    private static final long serialVersionUID = 1L;

    /** Creates the outcome. */
    public DeadlineExceeded() {
        super("the deadline passed before an answer came", true);
    }
}
