package io.stadium.api;

import io.netty.handler.ssl.SslContext;
import io.stadium.rpc.client.ClientBuilder;
import io.stadium.rpc.client.RpcClient;
import io.stadium.rpc.discovery.InstanceSource;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;

/** Makes a {@link Stadium}. Each method checks its argument and returns the builder. */
public final class StadiumBuilder {
    private final ClientBuilder client = RpcClient.builder();
    private ApiKey key;

    StadiumBuilder() {}

    /**
     * Calls a server, or the nodes of a cluster, at these addresses.
     *
     * @param addresses {@code HOST:PORT} of RPC, such as {@code 127.0.0.1:7800}
     * @return this builder
     */
    public StadiumBuilder addresses(String... addresses) {
        client.instances(addresses);
        return this;
    }

    /**
     * Calls the nodes that a registry names.
     *
     * @param source the registry, which the caller closes after the client
     * @return this builder
     */
    public StadiumBuilder discovery(InstanceSource source) {
        client.discovery(source);
        return this;
    }

    /**
     * Sets the API key that every call carries.
     *
     * @param key the key and its source
     * @return this builder
     */
    public StadiumBuilder key(ApiKey key) {
        this.key = Objects.requireNonNull(key, "key");
        return this;
    }

    /**
     * Sets the deadline of calls. A reservation that waits has its wait and 5 s; a statement has
     * none.
     *
     * @param deadline 1 ms to a day; default 5 s
     * @return this builder
     */
    public StadiumBuilder deadline(Duration deadline) {
        client.deadline(deadline);
        return this;
    }

    /**
     * Uses TLS.
     *
     * @param context a context for clients
     * @return this builder
     */
    public StadiumBuilder tls(SslContext context) {
        client.tls(context);
        return this;
    }

    /**
     * Sets the name that the certificates of the nodes must have.
     *
     * @param name a host name; default the host of the address
     * @return this builder
     */
    public StadiumBuilder serverName(String name) {
        client.serverName(name);
        return this;
    }

    /**
     * Changes further settings: attempts, keep-alive, event loops, traces, metrics. A bearer token
     * is none of them: the key takes its place.
     *
     * @param change is given the builder of the RPC client
     * @return this builder
     */
    public StadiumBuilder rpc(Consumer<ClientBuilder> change) {
        change.accept(client);
        return this;
    }

    /**
     * Starts the client. It connects when the first call is made.
     *
     * @return a client that its caller closes
     * @throws IllegalArgumentException there are neither addresses nor a discovery, or there is no
     *     key
     */
    public Stadium start() {
        if (key == null) {
            throw new IllegalArgumentException("a client of a Stadium server needs an API key");
        }
        return new Stadium(new Calls(client.start(), key));
    }
}
