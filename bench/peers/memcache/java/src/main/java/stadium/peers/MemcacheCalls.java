// A client under load. Any number of threads call it.
package stadium.peers;

import java.util.function.Supplier;

interface MemcacheCalls {
    /** Stores a value, without waiting for the answer. */
    void set(String key, byte[] value) throws Exception;

    /** Waits for a value; null where there is none. */
    byte[] get(String key) throws Exception;

    /** Begins to read a value, which the supplier waits for. Only clients with a row for operations in flight have it. */
    default Supplier<byte[]> fetch(String key) throws Exception {
        throw new UnsupportedOperationException("this client has no row for operations in flight");
    }
}
