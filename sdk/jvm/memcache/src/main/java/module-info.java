/**
 * A client of memcached.
 */
module io.stadium.memcache {
    exports io.stadium.memcache;
}
