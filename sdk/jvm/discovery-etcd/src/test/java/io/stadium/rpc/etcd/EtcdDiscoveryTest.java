package io.stadium.rpc.etcd;

import io.stadium.rpc.registry.Registry;
import io.stadium.rpc.registry.RegistrySuite;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The suite of registries with a real etcd. */
class EtcdDiscoveryTest extends RegistrySuite {
    private final int peerPort = freePort();

    @Override
    protected List<String> command(Path data) {
        String clients = "http://127.0.0.1:" + port;
        String peers = "http://127.0.0.1:" + peerPort;
        return List.of("etcd", "--name", "one", "--data-dir", data.toString(),
                "--listen-client-urls", clients, "--advertise-client-urls", clients,
                "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                "--initial-cluster", "one=" + peers, "--log-level", "error",
                "--heartbeat-interval", "50", "--election-timeout", "500");
    }

    @Override
    protected Registry open(int at, Duration sessionTtl) {
        return EtcdDiscovery.open(
                EtcdDiscovery.settings("etcd://127.0.0.1:" + at).withSessionTtl(sessionTtl));
    }

    @Override
    protected String url() {
        return "etcd://127.0.0.1:" + port;
    }

    @Override
    protected List<String> geoOption() {
        return List.of("--etcd", "http://127.0.0.1:" + port);
    }
}
