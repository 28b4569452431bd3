package io.stadium.memcache;

/** {@code SERVER_ERROR}, such as "out of memory storing object": the server could not do it. */
public final class ServerError extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the failure.
     *
     * @param text the server's text
     */
    public ServerError(String text) {
        super("the server could not do it: " + text, false);
    }
}
