package io.stadium.memcache;

import java.nio.file.Path;

/** The address of a server. */
public sealed interface Address {
    /** The port where an address names none. */
    int PORT = 11_211;

    /** The greatest port. */
    int PORT_MAX = 65_535;

    /**
     * A TCP port. The name is looked up at each connect.
     *
     * @param host a name or an IP address
     * @param port the port
     */
    record Tcp(String host, int port) implements Address {
        /**
         * Checks the address.
         *
         * @param host a name or an IP address
         * @param port 1 to 65,535
         */
        public Tcp {
            if (host.isEmpty() || port < 1 || port > PORT_MAX) {
                throw new IllegalArgumentException("no address of a server: " + host + ":" + port);
            }
        }

        @Override
        public String toString() {
            return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
        }
    }

    /**
     * A Unix socket.
     *
     * @param path its file
     */
    record Unix(Path path) implements Address {
        @Override
        public String toString() {
            return path.toString();
        }
    }

    /**
     * Reads an address.
     *
     * @param text {@code host}, {@code host:port}, {@code [::1]:port}, or the path of a Unix
     *     socket, which begins with {@code /}. The port is 11211 where none is named
     * @return the address
     * @throws IllegalArgumentException the text is no address
     */
    static Address parse(String text) {
        if (text.startsWith("/")) {
            return new Unix(Path.of(text));
        }
        int colon = text.lastIndexOf(':');
        String host = text;
        int port = PORT;
        // An IPv6 address without brackets has no port.
        if (colon >= 0 && (text.indexOf(':') == colon || text.charAt(colon - 1) == ']')) {
            host = text.substring(0, colon);
            try {
                port = Integer.parseInt(text.substring(colon + 1));
            } catch (NumberFormatException error) {
                throw new IllegalArgumentException("no address of a server: " + text, error);
            }
        }
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        }
        return new Tcp(host, port);
    }
}
