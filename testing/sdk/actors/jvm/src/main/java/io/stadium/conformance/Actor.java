package io.stadium.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.stadium.rpc.client.ClientBuilder;
import io.stadium.rpc.client.RpcClient;
import io.stadium.rpc.etcd.EtcdDiscovery;
import io.stadium.rpc.registry.Registry;
import io.stadium.rpc.registry.RegistrySettings;
import io.stadium.rpc.server.RpcServer;
import io.stadium.rpc.server.RpcServerBuilder;
import io.stadium.rpc.zookeeper.ZooKeeperDiscovery;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * The actor of the JVM SDK: obeys orders, a line of JSON each, on its standard input.
 *
 * <p>The orders are in testing/sdk/README.md. Each is answered by a line with its id. The actor ends
 * with its standard input.
 */
public final class Actor {
    static final ObjectMapper JSON = new ObjectMapper();

    private final Map<String, Calls> clients = new ConcurrentHashMap<>();
    private final ExecutorService orders = Executors.newCachedThreadPool();
    private volatile Functions functions = new Functions("");
    private volatile RpcServer server;

    private Actor() {}

    /** Obeys until there are no more orders. */
    public static void main(String[] arguments) throws IOException {
        Actor actor = new Actor();
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            JsonNode order = JSON.readTree(line);
            actor.orders.execute(() -> actor.begin(order));
        }
        System.exit(0);
    }

    static ObjectNode object() {
        return JSON.createObjectNode();
    }

    static ArrayNode array() {
        return JSON.createArrayNode();
    }

    private void begin(JsonNode order) {
        CompletableFuture<ObjectNode> obeyed;
        try {
            obeyed = obey(order);
        } catch (Exception failure) {
            obeyed = CompletableFuture.failedFuture(failure);
        }
        obeyed.exceptionally(failure -> object().put("error", failure.toString()))
                .thenAccept(answer -> print(answer.put("id", order.path("id").asLong())));
    }

    private static synchronized void print(ObjectNode answer) {
        System.out.println(answer);
        System.out.flush();
    }

    private CompletableFuture<ObjectNode> obey(JsonNode order) throws Exception {
        return switch (order.path("do").asText()) {
            case "call" -> client(order).call(order);
            case "quiesce" -> server.quiesce(Duration.ofMillis(order.get("within_ms").asLong()))
                    .thenApply(cut -> object().put("cut", cut));
            default -> CompletableFuture.completedFuture(done(order));
        };
    }

    private ObjectNode done(JsonNode order) throws Exception {
        switch (order.path("do").asText()) {
            case "serve" -> {
                return serve(order);
            }
            case "seen" -> {
                Functions.Seen seen = functions.seen(order.get("text").asText());
                return object().put("began", seen.began.get())
                        .put("ended", seen.ended.get()).put("cancelled", seen.cancelled.get());
            }
            case "slow" -> functions.slowMs = order.get("ms").asLong();
            case "client" -> clients.put(name(order), new Calls(start(order.get("settings"))));
            case "close" -> clients.remove(name(order)).close();
            case "cancel" -> client(order).cancel(order.get("of").asLong());
            case "note" -> client(order).note(order);
            case "stream" -> {
                return client(order).stream(order);
            }
            case "channel" -> {
                return client(order).channel(order);
            }
            case "load" -> {
                return client(order).load(order);
            }
            case "explain" -> {
                return client(order).explain(order);
            }
            default -> throw new IllegalArgumentException("there is no order " + order.path("do"));
        }
        return object();
    }

    private ObjectNode serve(JsonNode order) throws IOException {
        functions = new Functions(order.get("instance").asText());
        JsonNode settings = order.get("settings");
        RpcServerBuilder builder = RpcServer.builder().service(functions.service());
        for (JsonNode listen : settings.get("listen")) {
            int colon = listen.asText().lastIndexOf(':');
            builder.listen(listen.asText().substring(0, colon),
                    Integer.parseInt(listen.asText().substring(colon + 1)));
        }
        if (settings.hasNonNull("discovery")) {
            builder.registrar(registry(settings.get("discovery")));
        }
        server = builder.start();
        ArrayNode addresses = array();
        server.addresses().forEach(address ->
                addresses.add(address.getAddress().getHostAddress() + ":" + address.getPort()));
        ObjectNode answer = object();
        answer.set("addresses", addresses);
        return answer;
    }

    private static RpcClient start(JsonNode settings) {
        ClientBuilder builder = RpcClient.builder().bearer(settings.get("bearer").asText());
        if (settings.hasNonNull("discovery")) {
            builder.discovery(registry(settings.get("discovery")));
        } else {
            List<String> instances = new ArrayList<>();
            settings.get("instances").forEach(instance -> instances.add(instance.asText()));
            builder.instances(instances.toArray(String[]::new));
        }
        return builder.start();
    }

    private static Registry registry(JsonNode discovery) {
        String url = discovery.get("url").asText();
        boolean isEtcd = url.startsWith("etcd:");
        RegistrySettings settings =
                isEtcd ? EtcdDiscovery.settings(url) : ZooKeeperDiscovery.settings(url);
        if (discovery.hasNonNull("session_ttl_ms")) {
            settings = settings.withSessionTtl(Duration.ofMillis(discovery.get("session_ttl_ms").asLong()));
        }
        return isEtcd ? EtcdDiscovery.open(settings) : ZooKeeperDiscovery.open(settings);
    }

    private Calls client(JsonNode order) {
        Calls calls = clients.get(name(order));
        if (calls == null) {
            throw new IllegalArgumentException("there is no client " + name(order));
        }
        return calls;
    }

    private static String name(JsonNode order) {
        return order.path("client").asText();
    }
}
