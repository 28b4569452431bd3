package io.stadium.examples.geo;

import io.stadium.rpc.etcd.EtcdDiscovery;
import io.stadium.rpc.registry.Registry;
import io.stadium.rpc.zookeeper.ZooKeeperDiscovery;
import java.math.BigDecimal;
import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** The flags of a program: {@code --name value}, or {@code --name=value}. */
final class Flags {
    /** Where the service is, unless a flag names another place. */
    static final String ADDRESS = "127.0.0.1:7801";

    private final Map<String, String> values = new HashMap<>();

    /** Takes values of the flags with these names; the names in {@code switches} have none. */
    Flags(String[] arguments, Set<String> names, Set<String> switches) {
        for (int nth = 0; nth < arguments.length; nth++) {
            String[] parts = arguments[nth].split("=", 2);
            String name = parts[0];
            if (switches.contains(name)) {
                values.put(name, "");
            } else if (!names.contains(name)) {
                throw new IllegalArgumentException("unknown flag " + name);
            } else if (parts.length == 2) {
                values.put(name, parts[1]);
            } else if (++nth < arguments.length) {
                values.put(name, arguments[nth]);
            } else {
                throw new IllegalArgumentException(name + " needs a value");
            }
        }
    }

    Optional<String> find(String name) {
        return Optional.ofNullable(values.get(name));
    }

    String text(String name, String otherwise) {
        return values.getOrDefault(name, otherwise);
    }

    /** A whole number, from {@code min} on. */
    int number(String name, int min, int otherwise) {
        String text = values.get(name);
        if (text == null) {
            return otherwise;
        }
        try {
            int number = Integer.parseInt(text);
            if (number >= min) {
                return number;
            }
        } catch (NumberFormatException e) {
            // Answered below.
        }
        throw new IllegalArgumentException(name + " is a whole number from " + min + ", not " + text);
    }

    /** A number with a point or without. */
    static double decimal(String text) {
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(text + " is no number", e);
        }
    }

    /** An IP address and a port. */
    static InetSocketAddress address(String text) {
        int colon = text.lastIndexOf(':');
        try {
            return new InetSocketAddress(
                    text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
        } catch (IndexOutOfBoundsException | NumberFormatException e) {
            throw new IllegalArgumentException(text + " is not HOST:PORT", e);
        }
    }

    /** The registry that {@code --etcd} or {@code --zookeeper} names. */
    Optional<Registry> registry() {
        Optional<String> etcd = find("--etcd");
        Optional<String> zookeeper = find("--zookeeper");
        if (etcd.isPresent() && zookeeper.isPresent()) {
            throw new IllegalArgumentException("--etcd and --zookeeper exclude each other");
        }
        return etcd.map(urls -> EtcdDiscovery.open("etcd://" + urls.replace("http://", "")))
                .or(() -> zookeeper.map(hosts -> ZooKeeperDiscovery.open("zk://" + hosts)));
    }

    /** A number as people write it: in as few digits as give it back. */
    static String shown(double number) {
        if (!Double.isFinite(number)) {
            return Double.toString(number);
        }
        return new BigDecimal(Double.toString(number)).stripTrailingZeros().toPlainString();
    }
}
