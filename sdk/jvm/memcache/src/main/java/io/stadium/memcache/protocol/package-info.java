/** The text protocols of memcached, without I/O. */
package io.stadium.memcache.protocol;
