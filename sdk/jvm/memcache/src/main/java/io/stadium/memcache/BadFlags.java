package io.stadium.memcache;

/** The flags of a value have the bit that marks compressed ones: {@link Value#COMPRESSED}. */
public final class BadFlags extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /** The flags. */
    private final int flags;

    /**
     * Creates the failure.
     *
     * @param flags the flags
     */
    public BadFlags(int flags) {
        super("the flags " + Integer.toUnsignedString(flags)
                + " have bit 28, which marks compressed values", false);
        this.flags = flags;
    }

    /**
     * The flags.
     *
     * @return 32 bits
     */
    public int flags() {
        return flags;
    }
}
