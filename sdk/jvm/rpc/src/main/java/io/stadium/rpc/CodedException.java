package io.stadium.rpc;

import java.util.Objects;

/** An outcome that the service reports with a code and a text: {@link Rejected} or {@link Unknown}. */
public abstract sealed class CodedException extends RpcException permits Rejected, Unknown {
    private static final long serialVersionUID = 1L;

    /** A stable code. */
    private final String code;

    /** The service's text. */
    private final String reason;

    CodedException(String outcome, String code, String reason, boolean mayHaveHappened) {
        super(outcome + ": " + reason + " (" + code + ")", mayHaveHappened);
        this.code = Objects.requireNonNull(code, "code");
        this.reason = Objects.requireNonNull(reason, "reason");
    }

    /**
     * The code, which programs may compare.
     *
     * @return such as {@code GEO-001}
     */
    public final String code() {
        return code;
    }

    /**
     * The service's text.
     *
     * @return the reason
     */
    public final String reason() {
        return reason;
    }
}
