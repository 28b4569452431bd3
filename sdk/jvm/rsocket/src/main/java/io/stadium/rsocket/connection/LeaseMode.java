package io.stadium.rsocket.connection;

/** Whether requests of a connection need leases (Lease Semantics). */
public enum LeaseMode {
    /**
     * No. A client does not ask for leases, and a server refuses a client that does
     * (UNSUPPORTED_SETUP).
     */
    OFF,

    /** Client: asks for leases, and sends no request without one. */
    HONOUR,

    /** Server: grants leases to clients that ask for them, and serves the others without. */
    GRANT
}
