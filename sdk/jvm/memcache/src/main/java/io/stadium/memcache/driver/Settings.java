package io.stadium.memcache.driver;

import io.stadium.memcache.Dialect;
import javax.net.ssl.SSLContext;

/**
 * Settings of one connection. Times are in nanoseconds.
 *
 * @param dialect {@code null} for the one that the server knows
 * @param tls {@code null} for none
 * @param login the command that logs in; {@code null} for none. It has the password
 */
public record Settings(
        Dialect dialect, SSLContext tls, byte[] login, long connectTimeout, long stall,
        long spin, long backoffMin, long backoffMax, int valueBytesMax, int unsentBytesMax,
        int operationsMax) {}
