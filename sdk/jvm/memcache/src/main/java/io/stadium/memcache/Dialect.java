package io.stadium.memcache;

/** The text protocol that a server speaks. */
public enum Dialect {
    /** The meta protocol, of memcached 1.6 and later. */
    META,
    /** The classic one, of all servers and of proxies. */
    CLASSIC
}
