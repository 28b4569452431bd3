package io.stadium.rsocket.frame;

/** The types of frames, the upper six bits of a frame's fifth byte (Frame Types). */
public final class FrameType {
    /** SETUP: the client's first frame. */
    public static final int SETUP = 0x01;

    /** LEASE: a responder grants requests. */
    public static final int LEASE = 0x02;

    /** KEEPALIVE. */
    public static final int KEEPALIVE = 0x03;

    /** REQUEST_RESPONSE. */
    public static final int REQUEST_RESPONSE = 0x04;

    /** REQUEST_FNF: fire-and-forget. */
    public static final int REQUEST_FNF = 0x05;

    /** REQUEST_STREAM. */
    public static final int REQUEST_STREAM = 0x06;

    /** REQUEST_CHANNEL. */
    public static final int REQUEST_CHANNEL = 0x07;

    /** REQUEST_N: more credit. */
    public static final int REQUEST_N = 0x08;

    /** CANCEL. */
    public static final int CANCEL = 0x09;

    /** PAYLOAD. */
    public static final int PAYLOAD = 0x0A;

    /** ERROR, of a stream or of the connection. */
    public static final int ERROR = 0x0B;

    /** METADATA_PUSH. */
    public static final int METADATA_PUSH = 0x0C;

    /** RESUME: the first frame of a resumed session. */
    public static final int RESUME = 0x0D;

    /** RESUME_OK. */
    public static final int RESUME_OK = 0x0E;

    /** EXT: an extension of the protocol. */
    public static final int EXT = 0x3F;

    private FrameType() {}
}
