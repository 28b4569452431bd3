package io.stadium.rpc.zookeeper;

import io.stadium.rpc.registry.Registry;
import io.stadium.rpc.registry.RegistrySuite;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** The suite of registries with a real ZooKeeper, as Debian packages it. */
class ZooKeeperDiscoveryTest extends RegistrySuite {
    @Override
    protected List<String> command(Path data) throws IOException {
        Path settings = Files.writeString(folder.resolve("zoo.cfg"), String.join("\n",
                "tickTime=500", "dataDir=" + data, "clientPortAddress=127.0.0.1",
                "clientPort=" + port, "admin.enableServer=false", "maxSessionTimeout=60000", ""));
        return List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no", "-cp",
                "/usr/share/java/zookeeper.jar",
                "org.apache.zookeeper.server.quorum.QuorumPeerMain", settings.toString());
    }

    @Override
    protected Registry open(int at, Duration sessionTtl) {
        return ZooKeeperDiscovery.open(
                ZooKeeperDiscovery.settings("zk://127.0.0.1:" + at).withSessionTtl(sessionTtl));
    }

    @Override
    protected String url() {
        return "zk://127.0.0.1:" + port;
    }

    @Override
    protected List<String> geoOption() {
        return List.of("--zookeeper", "127.0.0.1:" + port);
    }
}
