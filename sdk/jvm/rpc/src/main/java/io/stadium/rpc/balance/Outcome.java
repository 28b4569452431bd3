package io.stadium.rpc.balance;

/** How an attempt ended, as far as its instance is concerned. */
public enum Outcome {
    /** It was answered. */
    OK,
    /** The instance is full and did nothing. */
    BUSY,
    /** Any other answer of an instance that works. */
    REJECTED,
    /** Its deadline passed without an answer. */
    DEADLINE,
    /** The connection broke. */
    BROKEN,
    /** The caller gave up, or another instance was faster. */
    CANCELLED
}
