package io.stadium.rpc.discovery;

import java.util.Objects;

/**
 * One instance of a service, as a registry names it.
 *
 * @param address {@code HOST:PORT} with an IP address, one of IPv6 in brackets
 * @param version the version of the service that it serves; empty where that is not known
 * @param value its data about itself
 */
public record Instance(String address, String version, InstanceValue value) {
    /**
     * Checks that nothing is absent.
     *
     * @param address the address
     * @param version the version
     * @param value the data
     */
    public Instance {
        Objects.requireNonNull(address, "address");
        Objects.requireNonNull(version, "version");
        Objects.requireNonNull(value, "value");
    }

    /**
     * An instance of which only the address is known.
     *
     * @param address {@code HOST:PORT}
     * @return the instance, which serves, with the usual weight
     */
    public static Instance at(String address) {
        return new Instance(address, "", InstanceValue.DEFAULT);
    }
}
