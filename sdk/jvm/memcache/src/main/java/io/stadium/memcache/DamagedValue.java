package io.stadium.memcache;

/**
 * A compressed value cannot be read: it is damaged, an {@code append} or a {@code prepend} changed
 * it, or it has more bytes than the client accepts.
 */
public final class DamagedValue extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the failure.
     *
     * @param text the cause
     */
    public DamagedValue(String text) {
        super(text, false);
    }
}
