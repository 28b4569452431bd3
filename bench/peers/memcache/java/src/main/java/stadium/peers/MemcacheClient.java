// A client under load. Any number of threads call it.
package stadium.peers;

import java.util.concurrent.Future;

interface MemcacheClient {
    /** Stores a value, without waiting for the answer. */
    void set(String key, byte[] value) throws Exception;

    /** Waits for a value; null where there is none. */
    byte[] get(String key) throws Exception;

    /** Begins to read a value. Only clients with a row for operations in flight have it. */
    default Future<byte[]> fetch(String key) throws Exception {
        throw new UnsupportedOperationException("this client has no row for operations in flight");
    }
}
