package io.stadium.memcache;

/** There is no connection, or it ended before the answer came. */
public final class Disconnected extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the failure.
     *
     * @param text the cause
     */
    public Disconnected(String text) {
        super("no connection to the server: " + text, true);
    }
}
