package io.stadium.memcache;

/** The server broke the protocol. The connection was closed. */
public final class ProtocolError extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /** Ways in which a server breaks its protocol. */
    public enum Violation {
        /** A line is longer than 2,048 bytes. */
        LINE_TOO_LONG("a line of an answer is too long"),
        /** A line ends in LF without CR, or a data block does not end in CR LF. */
        BAD_LINE_END("a line or a data block does not end in CR LF"),
        /** The first word of a line is none of the protocol's. */
        UNKNOWN_ANSWER("an answer begins with an unknown word"),
        /** A field of a line is missing, is not a number, or is greater than its type. */
        BAD_FIELD("a field of an answer is missing or malformed"),
        /** A data block is longer than {@link ClientBuilder#valueBytesMax}. */
        VALUE_TOO_LONG("a value was announced that is longer than what is accepted"),
        /** The answer belongs to another kind of command than the one whose turn it is. */
        UNEXPECTED_ANSWER("an answer belongs to another kind of command"),
        /** No command waits for an answer. */
        UNSOLICITED_ANSWER("an answer that no command waits for"),
        /** The opaque token is not the one that was sent. */
        OPAQUE_MISMATCH("an answer has the opaque token of another command"),
        /** A value for a key that was not asked for. */
        KEY_MISMATCH("a value has a key that was not asked for"),
        /** More errors than commands. */
        TOO_MANY_ERRORS("more errors than commands"),
        /** The statistics take more than 4 MiB. */
        STATISTICS_TOO_LONG("the statistics are too long");

        private final String text;

        Violation(String text) {
            this.text = text;
        }
    }

    /** The violation. */
    private final Violation violation;

    /**
     * Creates the failure.
     *
     * @param violation the violation
     */
    public ProtocolError(Violation violation) {
        super("the server broke the protocol: " + violation.text, true);
        this.violation = violation;
    }

    /**
     * The violation.
     *
     * @return its kind
     */
    public Violation violation() {
        return violation;
    }
}
