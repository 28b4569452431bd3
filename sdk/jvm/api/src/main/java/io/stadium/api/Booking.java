package io.stadium.api;

/** How a list of transfers is booked. */
public enum Booking {
    /** Each by itself, in order. */
    EACH,
    /** All or none. */
    LINKED
}
