package io.stadium.rpc.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.stadium.rpc.registry.RegistrySession;
import io.stadium.rpc.registry.RegistrySettings;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.ACLProvider;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;

/**
 * Begins sessions on one client of Curator, which outlives them: it keeps ZooKeeper's session, with
 * the ephemeral nodes, over a change of members.
 */
final class ZooKeeperConnector implements RegistrySession.Connector {
    private static final int RETRY_MS = 100;

    private final RegistrySettings settings;
    private CuratorFramework curator;

    /**
     * The watcher of each service: the same one for all sessions, since ZooKeeper's client keeps
     * those that it has over a change of members.
     */
    private final Map<String, Watcher> watchers = new HashMap<>();

    private volatile ZooKeeperSession current;

    ZooKeeperConnector(RegistrySettings settings) {
        this.settings = settings;
    }

    @Override
    public RegistrySession connect(RegistrySession.Events events) throws Exception {
        if (curator == null) {
            curator = start();
        }
        int waitMs = (int) settings.timeout().toMillis();
        if (!curator.blockUntilConnected(waitMs, TimeUnit.MILLISECONDS)) {
            throw new IOException("no member of " + settings.members() + " has answered");
        }
        ConnectionStateListener listener = (client, state) -> {
            if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                events.failed("the connection to ZooKeeper is " + state);
            }
        };
        curator.getConnectionStateListenable().addListener(listener);
        ZooKeeperSession session = new ZooKeeperSession(
                curator, settings, events, listener, this::watcher);
        try {
            session.beat();
            current = session;
            return session;
        } catch (Exception e) {
            session.close();
            throw e;
        }
    }

    private void heard(WatchedEvent event) {
        ZooKeeperSession session = current;
        if (session != null) {
            session.heard(event);
        }
    }

    Watcher watcher(String service) {
        return watchers.computeIfAbsent(service, name -> this::heard);
    }

    private CuratorFramework start() {
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
                .connectString(String.join(",", settings.members()))
                .sessionTimeoutMs((int) settings.sessionTtl().toMillis())
                .connectionTimeoutMs((int) settings.timeout().toMillis())
                // The registry has retries of its own.
                .retryPolicy(new RetryOneTime(RETRY_MS));
        if (settings.user() != null) {
            String login = settings.user() + ":" + settings.password();
            builder.authorization("digest", login.getBytes(UTF_8)).aclProvider(new Acls());
        }
        CuratorFramework started = builder.build();
        started.start();
        return started;
    }

    /** Entries belong to the user, and others may read them. Anybody may register beside them. */
    private static final class Acls implements ACLProvider {
        private static final List<ACL> ENTRY = List.of(
                new ACL(ZooDefs.Perms.ALL, ZooDefs.Ids.AUTH_IDS),
                new ACL(ZooDefs.Perms.READ, ZooDefs.Ids.ANYONE_ID_UNSAFE));

        @Override
        public List<ACL> getDefaultAcl() {
            return ZooDefs.Ids.OPEN_ACL_UNSAFE;
        }

        @Override
        public List<ACL> getAclForPath(String path) {
            return path.substring(path.lastIndexOf('/')).indexOf(':') > 0
                    ? ENTRY : ZooDefs.Ids.OPEN_ACL_UNSAFE;
        }
    }

    @Override
    public void close() {
        if (curator != null) {
            curator.close();
        }
    }
}
