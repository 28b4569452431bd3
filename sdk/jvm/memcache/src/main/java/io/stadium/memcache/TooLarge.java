package io.stadium.memcache;

/**
 * The value is larger than {@link ClientBuilder#valueBytesMax}, or than the room in the buffer of
 * {@link MemcacheOperations#getInto}.
 */
public final class TooLarge extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /** Its bytes. */
    private final int bytes;

    /** The bytes that are accepted. */
    private final int bytesMax;

    /**
     * Creates the failure.
     *
     * @param bytes the value's bytes
     * @param bytesMax the bytes that are accepted
     */
    public TooLarge(int bytes, int bytesMax) {
        super("the value has " + bytes + " bytes, " + bytesMax + " are accepted", false);
        this.bytes = bytes;
        this.bytesMax = bytesMax;
    }

    /**
     * The size of the value.
     *
     * @return bytes
     */
    public int bytes() {
        return bytes;
    }

    /**
     * The size that is accepted.
     *
     * @return bytes
     */
    public int bytesMax() {
        return bytesMax;
    }
}
