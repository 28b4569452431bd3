package io.stadium.memcache;

/** There is no connection: the server refused the user and the password, or wants some. */
public final class NotAuthenticated extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the failure.
     *
     * @param text the server's answer
     */
    public NotAuthenticated(String text) {
        super("the server lets nobody in: " + text, false);
    }
}
