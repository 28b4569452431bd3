package io.stadium.memcache;

/** A {@link Format} cannot read or write a value. */
public final class FormatError extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the failure.
     *
     * @param text the cause
     */
    public FormatError(String text) {
        super("the value cannot be converted: " + text, false);
    }
}
