package io.stadium.memcache;

/** No server accepts such a key. */
public final class BadKey extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the failure.
     *
     * @param text the cause
     */
    public BadKey(String text) {
        super(text, false);
    }
}
