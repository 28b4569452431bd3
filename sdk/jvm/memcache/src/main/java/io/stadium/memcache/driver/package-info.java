/** The driver of a connection: threads that wait take turns at its socket. */
package io.stadium.memcache.driver;
