// One connection of a client, as the load sees it.
package stadium.peers;

interface Caller {
    /**
     * Sends one request. Its answer, decoded, goes to {@link Load#answered} with the same three numbers. Called on the thread
     * that also brings the answers, except that a connection's first calls may come from elsewhere where the peer allows it.
     */
    void call(int connection, long id, long startedNanos);

    void close();
}
