package io.stadium.rpc.discovery;

import io.netty.util.NetUtil;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The place of an instance in a registry: what stands below the name of its service,
 * {@code VERSION/HOST:PORT}.
 *
 * <p>Places are ordered by version, then IPv4 before IPv6, then by the address and the port as
 * numbers.
 */
public final class Place implements Comparable<Place> {
    private static final Pattern VERSION = Pattern.compile("[A-Za-z0-9._-]{1,32}");
    private static final Pattern PORT = Pattern.compile("[0-9]{1,5}");
    private static final Pattern IPV4 = Pattern.compile(
            "(0|[1-9][0-9]{0,2})(\\.(0|[1-9][0-9]{0,2})){3}");

    private final String version;
    private final byte[] ip;
    private final int port;
    private final String address;

    private Place(String version, byte[] ip, int port) {
        this.version = version;
        this.ip = ip;
        this.port = port;
        try {
            String host = NetUtil.toAddressString(InetAddress.getByAddress(ip));
            address = (ip.length == 4 ? host : "[" + host + "]") + ":" + port;
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address has 4 or 16 bytes", e);
        }
    }

    /**
     * Reads what stands below the name of a service.
     *
     * @param path {@code VERSION/HOST:PORT}
     * @return the place; empty where it cannot be read, and the entry is skipped
     */
    public static Optional<Place> read(String path) {
        int slash = path.indexOf('/');
        if (slash < 0) {
            return Optional.empty();
        }
        String version = path.substring(0, slash);
        if (!VERSION.matcher(version).matches() || version.equals(".") || version.equals("..")) {
            return Optional.empty();
        }
        return of(version, path.substring(slash + 1));
    }

    /**
     * The place of an address.
     *
     * @param version the version of the service; it may be empty
     * @param address {@code HOST:PORT} with an IP address
     * @return the place; empty where the address cannot be read
     */
    public static Optional<Place> of(String version, String address) {
        int colon = address.lastIndexOf(':');
        if (colon < 1 || !PORT.matcher(address.substring(colon + 1)).matches()) {
            return Optional.empty();
        }
        String host = address.substring(0, colon);
        int port = Integer.parseInt(address.substring(colon + 1));
        boolean isIpv6 = host.startsWith("[") && host.endsWith("]");
        boolean isIp = isIpv6 ? host.indexOf('%') < 0 : IPV4.matcher(host).matches();
        byte[] ip = isIp ? NetUtil.createByteArrayFromIpAddressString(
                isIpv6 ? host.substring(1, host.length() - 1) : host) : null;
        return ip == null || port > 65_535 || isIpv6 != (ip.length == 16)
                ? Optional.empty() : Optional.of(new Place(version, ip, port));
    }

    /**
     * The version of the service.
     *
     * @return 1 to 32 characters where it was read from a path
     */
    public String version() {
        return version;
    }

    /**
     * The address in its usual form.
     *
     * @return {@code HOST:PORT}
     */
    public String address() {
        return address;
    }

    /**
     * The address of the socket.
     *
     * @param host the host name that TLS checks, or {@code null} for the address itself
     * @return an address that needs no look-up
     */
    public InetSocketAddress socketAddress(String host) {
        try {
            return new InetSocketAddress(InetAddress.getByAddress(host, ip), port);
        } catch (UnknownHostException e) {
            throw new IllegalStateException("an address has 4 or 16 bytes", e);
        }
    }

    @Override
    public int compareTo(Place other) {
        int order = version.compareTo(other.version);
        if (order == 0) {
            order = Integer.compare(ip.length, other.ip.length);
        }
        if (order == 0) {
            order = Arrays.compareUnsigned(ip, other.ip);
        }
        return order != 0 ? order : Integer.compare(port, other.port);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Place place && compareTo(place) == 0;
    }

    @Override
    public int hashCode() {
        return Objects.hash(version, Arrays.hashCode(ip), port);
    }

    @Override
    public String toString() {
        return version + "/" + address;
    }
}
