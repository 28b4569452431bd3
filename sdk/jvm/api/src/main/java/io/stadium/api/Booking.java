package io.stadium.api;

/** The two ways to book a list of transfers. */
public enum Booking {
    /** Each by itself, in order. */
    EACH,
    /** All or none. */
    LINKED
}
