package io.stadium.memcache;

/**
 * Some of a group of sets that were sent together failed, and the server does not report which.
 * This set was in the group.
 */
public final class Uncertain extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the failure.
     *
     * @param text the server's text
     */
    public Uncertain(String text) {
        super("this set or one beside it failed: " + text, true);
    }
}
