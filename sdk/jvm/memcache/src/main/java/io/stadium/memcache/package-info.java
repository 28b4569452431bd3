/**
 * A client of memcached: reads wait, writes need not, and many callers share few system calls.
 *
 * <p>{@link io.stadium.memcache.MemcacheClient} is its beginning.
 */
package io.stadium.memcache;
