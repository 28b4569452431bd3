package io.stadium.memcache;

/** {@code CLIENT_ERROR} or {@code ERROR}: the server refused the command. */
public final class ClientError extends MemcacheException {
    private static final long serialVersionUID = 1L;

    /**
     * Creates the failure.
     *
     * @param text the server's text
     */
    public ClientError(String text) {
        super("the server refused the command: " + text, false);
    }
}
