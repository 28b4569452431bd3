package io.stadium.rpc.zookeeper;

import io.stadium.rpc.registry.RegistrySession;
import io.stadium.rpc.registry.RegistrySettings;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.api.BackgroundCallback;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.state.ConnectionStateListener;
import org.apache.zookeeper.AddWatchMode;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.data.Stat;

/** A stretch of contact with ZooKeeper. */
final class ZooKeeperSession implements RegistrySession {
    /** Attempts to make a node whose parents others remove, or that others have made, meanwhile. */
    private static final int CLAIMS_MAX = 5;

    private final CuratorFramework curator;
    private final RegistrySettings settings;
    private final Events events;
    private final ConnectionStateListener listener;
    private final Function<String, Watcher> watchers;

    /** Services whose watch was added in this session. */
    private final Set<String> watched = new HashSet<>();

    ZooKeeperSession(
            CuratorFramework curator, RegistrySettings settings, Events events,
            ConnectionStateListener listener, Function<String, Watcher> watchers) {
        this.curator = curator;
        this.settings = settings;
        this.events = events;
        this.listener = listener;
        this.watchers = watchers;
    }

    private String node(String path) {
        return settings.prefix() + "/" + path;
    }

    @Override
    public Map<String, byte[]> follow(String service) throws Exception {
        String root = node(service);
        if (!watched.contains(service)) {
            curator.watchers().add().withMode(AddWatchMode.PERSISTENT_RECURSIVE)
                    .usingWatcher(watchers.apply(service)).forPath(root);
            watched.add(service);
        }
        Map<String, byte[]> found = new HashMap<>();
        for (String version : children(root)) {
            for (String address : children(root + "/" + version)) {
                String path = service + "/" + version + "/" + address;
                try {
                    found.put(path, curator.getData().forPath(node(path)));
                } catch (KeeperException.NoNodeException e) {
                    // It has gone since it was listed, and an event reports it.
                }
            }
        }
        return found;
    }

    private List<String> children(String node) throws Exception {
        try {
            return curator.getChildren().forPath(node);
        } catch (KeeperException.NoNodeException e) {
            return List.of();
        }
    }

    /** A node below a service has changed. Nodes of entries are three levels below the root. */
    void heard(WatchedEvent event) {
        String start = settings.prefix() + "/";
        String node = event.getPath();
        if (node == null || !node.startsWith(start)) {
            return;
        }
        String path = node.substring(start.length());
        if (path.chars().filter(one -> one == '/').count() != 2) {
            return;
        }
        switch (event.getType()) {
            case NodeCreated, NodeDataChanged -> {
                boolean isChange = event.getType() == Watcher.Event.EventType.NodeDataChanged;
                BackgroundCallback read = (client, answer) -> read(path, isChange, answer);
                try {
                    curator.getData().inBackground(read).forPath(node);
                } catch (Exception e) {
                    events.failed("a node cannot be read: " + e);
                }
            }
            case NodeDeleted -> events.removed(path);
            default -> {}
        }
    }

    private void read(String path, boolean isChange, CuratorEvent answer) {
        int code = answer.getResultCode();
        if (code == KeeperException.Code.OK.intValue()) {
            events.put(path, answer.getData());
        } else if (code == KeeperException.Code.NONODE.intValue()) {
            // The last value was not read in time, but a session that expires writes none.
            if (isChange) {
                events.left(path);
            }
        } else {
            events.failed("a node cannot be read: " + KeeperException.Code.get(code));
        }
    }

    @Override
    public void keep(String path, byte[] value) throws Exception {
        String node = node(path);
        long session = curator.getZookeeperClient().getZooKeeper().getSessionId();
        for (int claim = 1; ; claim++) {
            try {
                Stat stat = new Stat();
                byte[] present;
                try {
                    present = curator.getData().storingStatIn(stat).forPath(node);
                } catch (KeeperException.NoNodeException e) {
                    curator.create().creatingParentsIfNeeded().withMode(CreateMode.EPHEMERAL)
                            .forPath(node, value);
                    return;
                }
                if (stat.getEphemeralOwner() != session) {
                    // An earlier session of this address left it behind.
                    curator.delete().forPath(node);
                } else if (Arrays.equals(present, value)) {
                    return;
                } else {
                    curator.setData().forPath(node, value);
                    return;
                }
            } catch (KeeperException.NoNodeException | KeeperException.NodeExistsException e) {
                if (claim == CLAIMS_MAX) {
                    throw e;
                }
            }
        }
    }

    @Override
    public void withdraw(String path, byte[] goodbye) throws Exception {
        String node = node(path);
        try {
            Stat stat = curator.checkExists().forPath(node);
            long session = curator.getZookeeperClient().getZooKeeper().getSessionId();
            if (stat != null && stat.getEphemeralOwner() == session) {
                curator.setData().forPath(node, goodbye);
                curator.delete().forPath(node);
            }
        } catch (KeeperException.NoNodeException e) {
            // It is gone.
        }
    }

    /** ZooKeeper's own client shows signs of life; a read checks that a member answers. */
    @Override
    public void beat() throws Exception {
        curator.checkExists().forPath(settings.prefix());
    }

    @Override
    public void close() {
        curator.getConnectionStateListenable().removeListener(listener);
    }
}
