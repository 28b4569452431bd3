package io.stadium.rsocket.frame;

/** The flags, the lower ten bits of a frame's fifth and sixth byte (Frame Header Format). */
public final class FrameFlag {
    /** Ignore the frame if its type is not known. */
    public static final int IGNORE = 0x200;

    /** The frame has metadata. */
    public static final int METADATA = 0x100;

    /** REQUEST_* and PAYLOAD: more fragments follow. */
    public static final int FOLLOWS = 0x80;

    /** SETUP: the client asks for resumption, and the frame holds its token. */
    public static final int RESUME = 0x80;

    /** KEEPALIVE: the receiver has to answer. */
    public static final int RESPOND = 0x80;

    /** REQUEST_CHANNEL and PAYLOAD: the sender's direction of the stream is complete. */
    public static final int COMPLETE = 0x40;

    /** SETUP: the client honours leases. */
    public static final int LEASE = 0x40;

    /** PAYLOAD: the frame has a value, not only the completion. */
    public static final int NEXT = 0x20;

    /** All ten flags. */
    public static final int ALL = 0x3FF;

    private FrameFlag() {}
}
