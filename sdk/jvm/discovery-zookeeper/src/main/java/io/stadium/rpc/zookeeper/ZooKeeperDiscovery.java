package io.stadium.rpc.zookeeper;

import io.stadium.rpc.registry.Registry;
import io.stadium.rpc.registry.RegistrySettings;

/**
 * Finds and registers instances in ZooKeeper 3.6 or later. docs/discovery.md describes the tree.
 *
 * <pre>{@code
 * try (Registry zookeeper = ZooKeeperDiscovery.open("zk://10.0.0.1:2181,10.0.0.2:2181")) {
 *     RpcServers.serve(
 *             RpcServer.builder().listen("10.0.0.7", 7800).service(geo).registrar(zookeeper));
 * }
 * }</pre>
 *
 * <p>An entry is an ephemeral node of the process's session. Lists follow a recursive persistent
 * watch. A user is one of the {@code digest} scheme; it then owns the entries, and others may only
 * read them.
 */
public final class ZooKeeperDiscovery {
    private ZooKeeperDiscovery() {}

    /**
     * Begins to connect, with the defaults of {@link RegistrySettings#of}.
     *
     * @param url {@code zk://HOST:PORT,..}
     * @return the registry, for {@code RpcServerBuilder.registrar} and for clients
     * @throws IllegalArgumentException the URL has another form
     */
    public static Registry open(String url) {
        return open(settings(url));
    }

    /**
     * The settings of a URL, to be changed before {@link #open(RegistrySettings)}.
     *
     * @param url {@code zk://HOST:PORT,..}
     * @return the settings
     * @throws IllegalArgumentException the URL has another form
     */
    public static RegistrySettings settings(String url) {
        return RegistrySettings.of(url, "zk");
    }

    /**
     * Begins to connect. It never waits for ZooKeeper.
     *
     * @param settings where ZooKeeper is
     * @return the registry, which its owner closes
     */
    public static Registry open(RegistrySettings settings) {
        return new Registry(settings, new ZooKeeperConnector(settings));
    }
}
