package io.stadium.rsocket.connection;

/** The side of a stream. */
public enum Role {
    /** This side sent the request. */
    REQUESTER,

    /** The peer sent the request. */
    RESPONDER
}
