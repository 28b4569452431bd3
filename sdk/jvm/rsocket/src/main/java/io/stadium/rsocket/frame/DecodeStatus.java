package io.stadium.rsocket.frame;

/** The result of {@link Frame#decode}: a frame, or why the bytes are none. */
public enum DecodeStatus {
    /** The bytes are a frame. */
    DECODED("frame is well-formed"),

    /** The frame ends before a field of its type. */
    TOO_SHORT("frame ends before its fields do"),

    /** The upper bit of a 31-bit or 63-bit field is set. */
    RESERVED("reserved bit is set"),

    /**
     * The metadata's length goes beyond the frame. The frame is to be ignored (Metadata Optional
     * Header).
     */
    METADATA_LENGTH("metadata is longer than its frame"),

    /** RSocket 1.0 has no frame of this type, and the frame does not have the ignore flag. */
    UNKNOWN_TYPE("frame type is not known"),

    /** The type is not known, or the extension is malformed, and the frame has the ignore flag. */
    IGNORABLE("frame type is not known and may be ignored"),

    /** SETUP with a keep-alive interval or a lifetime of 0. */
    ZERO_TIME("keep-alive interval and lifetime must be more than 0"),

    /** A request n that is not between 1 and 2147483647. */
    REQUEST_N("request n is not between 1 and 2147483647");

    private final String text;

    DecodeStatus(String text) {
        this.text = text;
    }

    /**
     * The status in words, as an ERROR frame reports it.
     *
     * @return a sentence without a full stop
     */
    public String text() {
        return text;
    }
}
