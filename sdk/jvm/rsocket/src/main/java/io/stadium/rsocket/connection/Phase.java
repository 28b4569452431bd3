package io.stadium.rsocket.connection;

/** How far a connection is. */
enum Phase {
    /** Server: the first frame has not arrived. */
    NEW,

    /** Server: the driver has to accept or refuse a SETUP. */
    DECIDING,

    /** Requests go both ways. */
    OPEN,

    /** One side has sent CONNECTION_CLOSE: streams end, none begin. */
    CLOSING,

    /** Nothing is sent or received. */
    CLOSED
}
