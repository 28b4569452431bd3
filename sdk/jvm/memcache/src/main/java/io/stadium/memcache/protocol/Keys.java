package io.stadium.memcache.protocol;

import io.stadium.memcache.BadKey;
import java.util.Base64;

/**
 * The keys that a server accepts. Printable ASCII without spaces is sent as it is; anything else in
 * base64, which the meta protocol alone understands.
 */
public final class Keys {
    /** Bytes of a key at most, as it is sent. Source: {@code KEY_MAX_LENGTH} in memcached. */
    public static final int BYTES_MAX = 250;

    private Keys() {}

    /** True where the key is sent in base64. */
    public static boolean isBinary(byte[] key) {
        for (byte one : key) {
            if (one <= ' ' || one == 127) {
                return true;
            }
        }
        return false;
    }

    /**
     * Checks the length of a key.
     *
     * @throws BadKey it is empty, or longer than {@link #BYTES_MAX} as it would be sent
     */
    public static void check(byte[] key, boolean isBinary) {
        int sent = isBinary ? (key.length + 2) / 3 * 4 : key.length;
        if (sent > BYTES_MAX) {
            throw new BadKey("the key takes " + sent + " bytes as it is sent, " + BYTES_MAX
                    + " are accepted");
        }
        if (key.length == 0) {
            throw new BadKey("the key is empty");
        }
    }

    static void write(Bytes out, byte[] key, boolean isBinary) {
        out.put(isBinary ? Base64.getEncoder().encode(key) : key);
    }
}
