package io.stadium.rpc.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.PutOption;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchEvent;
import io.etcd.jetcd.watch.WatchResponse;
import io.stadium.rpc.registry.RegistrySession;
import io.stadium.rpc.registry.RegistrySettings;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** A stretch of contact with one member of etcd. */
final class EtcdSession implements RegistrySession {
    private final Client client;
    private final RegistrySettings settings;
    private final Map<String, Long> leases;
    private final Events events;
    private final Map<String, Watch.Watcher> watchers = new HashMap<>();

    EtcdSession(
            Client client, RegistrySettings settings, Map<String, Long> leases, Events events) {
        this.client = client;
        this.settings = settings;
        this.leases = leases;
        this.events = events;
    }

    private <T> T get(CompletableFuture<T> answer) throws Exception {
        return EtcdConnector.get(answer, settings);
    }

    private ByteSequence key(String path) {
        return EtcdConnector.bytes(settings.prefix() + "/" + path);
    }

    private String path(ByteSequence key) {
        return key.toString(UTF_8).substring(settings.prefix().length() + 1);
    }

    @Override
    public Map<String, byte[]> follow(String service) throws Exception {
        Watch.Watcher before = watchers.remove(service);
        if (before != null) {
            before.close();
        }
        ByteSequence start = key(service + "/");
        GetResponse list = get(client.getKVClient().get(
                start, GetOption.builder().isPrefix(true).build()));
        Map<String, byte[]> found = new HashMap<>();
        for (KeyValue one : list.getKvs()) {
            found.put(path(one.getKey()), one.getValue().getBytes());
        }
        WatchOption behind = WatchOption.builder().isPrefix(true)
                .withRevision(list.getHeader().getRevision() + 1).build();
        watchers.put(service, client.getWatchClient().watch(
                start, behind, Watch.listener(this::heard,
                        failure -> events.failed("etcd ended a watch: " + failure),
                        () -> {})));
        return found;
    }

    private void heard(WatchResponse response) {
        for (WatchEvent event : response.getEvents()) {
            String path = path(event.getKeyValue().getKey());
            switch (event.getEventType()) {
                case PUT -> events.put(path, event.getKeyValue().getValue().getBytes());
                case DELETE -> events.removed(path);
                default -> {}
            }
        }
    }

    @Override
    public void keep(String path, byte[] value) throws Exception {
        long lease = lease(path);
        GetResponse present = get(client.getKVClient().get(key(path)));
        if (!present.getKvs().isEmpty()) {
            KeyValue one = present.getKvs().get(0);
            if (one.getLease() == lease && ByteSequence.from(value).equals(one.getValue())) {
                return;
            }
        }
        get(client.getKVClient().put(key(path), ByteSequence.from(value),
                PutOption.builder().withLeaseId(lease).build()));
    }

    /** The entry's lease, if it lives, or a new one. */
    private long lease(String path) throws Exception {
        Long known = leases.get(path);
        if (known != null && isAlive(known)) {
            return known;
        }
        leases.remove(path);
        // Whole seconds are all that etcd knows.
        long lease = get(client.getLeaseClient().grant(settings.sessionTtl().toSeconds())).getID();
        leases.put(path, lease);
        return lease;
    }

    private boolean isAlive(long lease) throws Exception {
        try {
            LeaseKeepAliveResponse answer = get(client.getLeaseClient().keepAliveOnce(lease));
            return answer.getTTL() > 0;
        } catch (java.util.concurrent.ExecutionException e) {
            // jetcd reports a lease that is no more as an error.
            if (String.valueOf(e.getCause()).contains("etcdserver: requested lease not found")) {
                return false;
            }
            throw e;
        }
    }

    @Override
    public void withdraw(String path, byte[] goodbye) throws Exception {
        Long lease = leases.get(path);
        if (lease == null || !isAlive(lease)) {
            // Without its lease there is no entry of ours.
            leases.remove(path);
            return;
        }
        ByteSequence key = key(path);
        Op.PutOp put = Op.put(key, ByteSequence.from(goodbye),
                PutOption.builder().withLeaseId(lease).build());
        GetResponse present = get(client.getKVClient().get(key));
        if (!present.getKvs().isEmpty() && present.getKvs().get(0).getLease() == lease) {
            long revision = present.getKvs().get(0).getModRevision();
            get(client.getKVClient().txn()
                    .If(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.modRevision(revision)))
                    .Then(put).commit());
        }
        get(client.getLeaseClient().revoke(lease));
        leases.remove(path);
    }

    @Override
    public void beat() throws Exception {
        EtcdConnector.probe(client, settings);
        for (Map.Entry<String, Long> one : leases.entrySet()) {
            if (!isAlive(one.getValue())) {
                throw new IOException("the lease of " + one.getKey() + " has expired");
            }
        }
    }

    @Override
    public void close() {
        watchers.values().forEach(Watch.Watcher::close);
        client.close();
    }
}
