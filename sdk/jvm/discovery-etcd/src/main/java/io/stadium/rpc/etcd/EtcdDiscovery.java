package io.stadium.rpc.etcd;

import io.stadium.rpc.registry.Registry;
import io.stadium.rpc.registry.RegistrySettings;

/**
 * Finds and registers instances in etcd 3.4 or later. docs/discovery.md describes the tree.
 *
 * <pre>{@code
 * try (Registry etcd = EtcdDiscovery.open("etcd://10.0.0.1:2379,10.0.0.2:2379")) {
 *     RpcServers.serve(RpcServer.builder().listen("10.0.0.7", 7800).service(geo).registrar(etcd));
 * }
 * }</pre>
 *
 * <p>Each entry has a lease of its own, which is kept alive three times in its life. A watch begins
 * behind the list that it follows. A session uses one member; the next one is tried when it does
 * not answer a read that needs the quorum.
 */
public final class EtcdDiscovery {
    private EtcdDiscovery() {}

    /**
     * Begins to connect, with the defaults of {@link RegistrySettings#of}.
     *
     * @param url {@code etcd://HOST:PORT,..}
     * @return the registry, for {@code RpcServerBuilder.registrar} and for clients
     * @throws IllegalArgumentException the URL has another form
     */
    public static Registry open(String url) {
        return open(settings(url));
    }

    /**
     * The settings of a URL, to be changed before {@link #open(RegistrySettings)}.
     *
     * @param url {@code etcd://HOST:PORT,..}
     * @return the settings
     * @throws IllegalArgumentException the URL has another form
     */
    public static RegistrySettings settings(String url) {
        return RegistrySettings.of(url, "etcd");
    }

    /**
     * Begins to connect. It never waits for etcd.
     *
     * @param settings where etcd is. A user needs READWRITE on the range of the prefix
     * @return the registry, which its owner closes
     */
    public static Registry open(RegistrySettings settings) {
        return new Registry(settings, new EtcdConnector(settings));
    }
}
