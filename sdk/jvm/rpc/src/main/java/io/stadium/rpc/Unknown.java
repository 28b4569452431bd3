package io.stadium.rpc;

import java.util.Objects;

/**
 * The service failed on its way: the work may have been done. Send the request again with the
 * same id.
 */
public final class Unknown extends RpcException {
    private static final long serialVersionUID = 1L;

    /** A stable code. */
    private final String code;

    /** The service's text. */
    private final String reason;

    /**
     * Creates the outcome.
     *
     * @param code a stable code, such as {@code GEO-001}
     * @param reason what is wrong, with what, and what to do
     */
    public Unknown(String code, String reason) {
        super("unknown whether it happened: " + reason + " (" + code + ")", true);
        this.code = Objects.requireNonNull(code, "code");
        this.reason = Objects.requireNonNull(reason, "reason");
    }

    /**
     * The code, which programs may compare.
     *
     * @return such as {@code GEO-001}
     */
    public String code() {
        return code;
    }

    /**
     * What is wrong.
     *
     * @return the service's text
     */
    public String reason() {
        return reason;
    }
}
