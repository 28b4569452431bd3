package io.stadium.api;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

/**
 * Ids of transfers and pushes. The program makes them, so that it can send a request again. Where
 * none is given, a random one is made.
 */
public final class Ids {
    /** The namespace of ids that are made of names; the Python SDK has the same one. */
    private static final UUID NAMES = UUID.fromString("a2c7d0f2-6d0c-5d5a-9f38-0f5c5a0b7a11");

    private Ids() {}

    /**
     * An id made of names, such as {@code Ids.of("payment", "store-4711")}: the same names give the
     * same id, after a restart and in the Python SDK too.
     *
     * @param names at least one
     * @return a UUID of version 5
     */
    public static UUID of(String... names) {
        if (names.length == 0) {
            throw new IllegalArgumentException("an id is made of at least one name");
        }
        MessageDigest sha1;
        try {
            sha1 = MessageDigest.getInstance("SHA-1");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
        sha1.update(array(NAMES));
        ByteBuffer hash = ByteBuffer.wrap(
                sha1.digest(String.join("\0", names).getBytes(StandardCharsets.UTF_8)));
        long high = hash.getLong() & ~0xF000L | 0x5000L;
        long low = hash.getLong() & ~(3L << 62) | 2L << 62;
        return new UUID(high, low);
    }

    /**
     * The id of a message's field.
     *
     * @param bytes 16 bytes
     * @return the id
     * @throws IllegalArgumentException there are not 16 bytes
     */
    public static UUID of(ByteString bytes) {
        if (bytes.size() != 16) {
            throw new IllegalArgumentException("an id has 16 bytes, not " + bytes.size());
        }
        ByteBuffer buffer = bytes.asReadOnlyByteBuffer();
        return new UUID(buffer.getLong(), buffer.getLong());
    }

    /**
     * An id for a message's field.
     *
     * @param id the id
     * @return 16 bytes
     */
    public static ByteString bytes(UUID id) {
        return ByteString.copyFrom(array(id));
    }

    private static byte[] array(UUID id) {
        return ByteBuffer.allocate(16).putLong(id.getMostSignificantBits())
                .putLong(id.getLeastSignificantBits()).array();
    }
}
