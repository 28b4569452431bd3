package io.stadium.memcache;

/**
 * The bound on operations or on unsent bytes is reached. Nothing happened: try later, or slow down.
 */
public final class Busy extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /** Creates the failure. */
    public Busy() {
        super("too many operations or unsent bytes; try later", false);
    }
}
