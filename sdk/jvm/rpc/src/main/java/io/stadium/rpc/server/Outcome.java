package io.stadium.rpc.server;

/** How a call ended for its server. */
public enum Outcome {
    /** It was answered; a stream was completed. */
    OK,
    /** It was refused as Busy. */
    BUSY,
    /** It was rejected, or its request was not understood. */
    REJECTED,
    /** The function failed, so that it may have happened, or ended with an error of its own. */
    FAILED,
    /** Its deadline passed first. */
    EXPIRED,
    /** The caller cancelled or disconnected. */
    CANCELLED
}
