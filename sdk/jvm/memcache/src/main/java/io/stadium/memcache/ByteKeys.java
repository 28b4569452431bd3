package io.stadium.memcache;

/** A client with keys of bytes. */
final class ByteKeys extends MemcacheOperations<byte[]> {
    ByteKeys(ClientCore core, long timeout) {
        super(core, timeout);
    }

    /** The caller may change its array afterwards. */
    @Override
    byte[] bytes(byte[] key) {
        return key.clone();
    }
}
