package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;

/** The login of a client, for servers with {@code memcached -Y}. */
final class Credentials {
    /**
     * Bytes of the user and the password together at most. Source: the buffer in memcached's {@code
     * authfile.c}, 256 bytes with the separators.
     */
    private static final int BYTES_MAX = 250;

    private Credentials() {}

    /**
     * The command that logs in: a classic {@code set} with "user password" as its value, under any
     * key. A server that asks for no login stores the value, which expires at once.
     *
     * @throws IllegalArgumentException the server cannot express the user or the password
     */
    static byte[] command(String user, String password) {
        String both = user + " " + password;
        int bytes = both.getBytes(UTF_8).length;
        boolean isWrong = user.isEmpty() || password.isEmpty() || user.contains(":")
                || both.chars().anyMatch(Character::isISOControl)
                || both.indexOf(' ') != both.lastIndexOf(' ') || bytes - 1 > BYTES_MAX;
        if (isWrong) {
            throw new IllegalArgumentException("the user or the password cannot be used");
        }
        return ("set stadium-memcache-login 0 -1 " + bytes + "\r\n" + both + "\r\n")
                .getBytes(UTF_8);
    }
}
