package io.stadium.rpc.etcd;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.etcd.jetcd.options.GetOption;
import io.stadium.rpc.registry.RegistrySession;
import io.stadium.rpc.registry.RegistrySettings;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** Begins sessions with one member after another. The leases of entries outlive them. */
final class EtcdConnector implements RegistrySession.Connector {
    private final RegistrySettings settings;

    /** The lease of each entry, by its path. */
    private final Map<String, Long> leases = new HashMap<>();

    private int next;

    EtcdConnector(RegistrySettings settings) {
        this.settings = settings;
    }

    @Override
    public RegistrySession connect(RegistrySession.Events events) throws Exception {
        String member = settings.members().get(next++ % settings.members().size());
        ClientBuilder builder = Client.builder().endpoints("http://" + member)
                .connectTimeout(settings.timeout())
                // The registry has retries of its own, elsewhere.
                .retryMaxAttempts(0);
        if (settings.user() != null) {
            builder.user(bytes(settings.user())).password(bytes(settings.password()));
        }
        Client client = builder.build();
        try {
            probe(client, settings);
            return new EtcdSession(client, settings, leases, events);
        } catch (Exception e) {
            client.close();
            throw e;
        }
    }

    /** A read that needs the quorum. */
    static void probe(Client client, RegistrySettings settings) throws Exception {
        GetOption one = GetOption.builder().withLimit(1).withKeysOnly(true).isPrefix(true).build();
        get(client.getKVClient().get(bytes(settings.prefix() + "/"), one), settings);
    }

    static <T> T get(CompletableFuture<T> answer, RegistrySettings settings) throws Exception {
        try {
            return answer.get(settings.timeout().toNanos(), TimeUnit.NANOSECONDS);
        } finally {
            answer.cancel(true);
        }
    }

    static ByteSequence bytes(String text) {
        return ByteSequence.from(text, UTF_8);
    }

    @Override
    public void close() {}
}
