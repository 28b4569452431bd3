// How a peer's client connects, and where its callbacks run.
package stadium.peers;

import java.net.InetSocketAddress;

interface Opening {
    /** Prepares a cell, for a client that makes its connections together. */
    default void cell(InetSocketAddress address, int connections, int elements) throws Exception {}

    /** One connection, ready for calls. */
    Caller open(InetSocketAddress address, int elements, Load load) throws Exception;

    /** Runs the first calls where the answers come. */
    void begin(Runnable calls);
}
