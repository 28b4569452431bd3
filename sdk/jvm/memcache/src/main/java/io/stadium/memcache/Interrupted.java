package io.stadium.memcache;

/**
 * The waiting thread was interrupted. Its interrupt status stays set; the operation goes on.
 */
public final class Interrupted extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /** Creates the failure. */
    public Interrupted() {
        super("the waiting thread was interrupted", true);
    }
}
