package io.stadium.memcache;

/** The rule that assigns keys to servers. */
public enum Routing {
    /**
     * Rendezvous hashing: the server whose hash with the key is the greatest. A server that comes
     * or goes moves its share of the keys only.
     */
    RENDEZVOUS,
    /**
     * The ring of ketama with 160 points a server, as libmemcached has it with
     * {@code MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED}: for servers that other clients use as well.
     */
    KETAMA
}
