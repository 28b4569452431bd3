package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Arrays;

/**
 * A value as it is stored.
 *
 * @param bytes its bytes, which belong to the caller
 * @param flags the flags that it was stored with
 * @param cas its unique number, from {@link MemcacheOperations#gets}; otherwise 0
 */
public record Value(byte[] bytes, int flags, long cas) {
    /**
     * The flag of a compressed value: bit 28. Values are decompressed when they are read, and the
     * flag is removed. A program cannot set it.
     */
    public static final int COMPRESSED = 1 << 28;

    /**
     * The bytes as text.
     *
     * @return UTF-8, decoded
     */
    public String utf8() {
        return new String(bytes, UTF_8);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Value value && Arrays.equals(bytes, value.bytes)
                && flags == value.flags && cas == value.cas;
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes) * 31 + flags;
    }

    @Override
    public String toString() {
        return bytes.length + " bytes, flags " + Integer.toUnsignedString(flags);
    }
}
