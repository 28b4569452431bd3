package io.stadium.rsocket.frame;

/**
 * The codes of ERROR frames (Error Codes).
 *
 * <p>A code is an unsigned 32-bit number. Codes from 0x301 to 0xFFFFFFFE belong to applications.
 */
public final class ErrorCode {
    /** Connection: the SETUP cannot be read, or has another version. */
    public static final int INVALID_SETUP = 0x001;

    /** Connection: the SETUP asks for what the server does not support. */
    public static final int UNSUPPORTED_SETUP = 0x002;

    /** Connection: the server refuses the client. */
    public static final int REJECTED_SETUP = 0x003;

    /** Connection: the session cannot be resumed, and the client must not try again. */
    public static final int REJECTED_RESUME = 0x004;

    /** Connection: the connection is broken and ends now. */
    public static final int CONNECTION_ERROR = 0x101;

    /** Connection: it ends when its streams have ended, and takes no new ones. */
    public static final int CONNECTION_CLOSE = 0x102;

    /** Stream: the application failed. */
    public static final int APPLICATION_ERROR = 0x201;

    /** Stream: the responder has not processed the request. */
    public static final int REJECTED = 0x202;

    /** Stream: the responder stopped processing the request. */
    public static final int CANCELED = 0x203;

    /** Stream: the request is invalid. */
    public static final int INVALID = 0x204;

    private ErrorCode() {}

    /**
     * Whether a code answers a SETUP or a RESUME.
     *
     * @param code a code of an ERROR frame
     * @return whether it is one of 0x001 to 0x0FF
     */
    public static boolean isOfSetup(int code) {
        return code >= 1 && code <= 0xFF;
    }

    /**
     * The specification's name of a code.
     *
     * @param code a code of an ERROR frame
     * @return the name, or the number in hexadecimal where the specification gives no name
     */
    public static String name(int code) {
        return switch (code) {
            case INVALID_SETUP -> "INVALID_SETUP";
            case UNSUPPORTED_SETUP -> "UNSUPPORTED_SETUP";
            case REJECTED_SETUP -> "REJECTED_SETUP";
            case REJECTED_RESUME -> "REJECTED_RESUME";
            case CONNECTION_ERROR -> "CONNECTION_ERROR";
            case CONNECTION_CLOSE -> "CONNECTION_CLOSE";
            case APPLICATION_ERROR -> "APPLICATION_ERROR";
            case REJECTED -> "REJECTED";
            case CANCELED -> "CANCELED";
            case INVALID -> "INVALID";
            default -> "0x" + String.format("%08x", code);
        };
    }
}
