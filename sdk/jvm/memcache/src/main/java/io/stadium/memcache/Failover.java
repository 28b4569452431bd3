package io.stadium.memcache;

/** The destination of operations on an ejected server's keys. */
public enum Failover {
    /**
     * Nowhere: they fail at once with {@link Disconnected}. No value is ever read from a server
     * that missed writes.
     */
    OFF,
    /** To the next server of the key. When the ejected one is back it has values from before. */
    NEXT
}
