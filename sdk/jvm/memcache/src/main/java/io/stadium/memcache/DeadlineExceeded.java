package io.stadium.memcache;

/** The deadline passed. */
public final class DeadlineExceeded extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /** Creates the failure. */
    public DeadlineExceeded() {
        super("the deadline passed", true);
    }
}
