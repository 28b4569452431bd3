package io.stadium.memcache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.stadium.memcache.Router.Member;
import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Several servers: who has a key, ejection, failover and probation. */
@Timeout(60)
class RoutingTest {
    private static final Expiry NEVER = Expiry.NEVER;

    private static JsonNode vectors(String name) throws Exception {
        return new ObjectMapper().readTree(
                new File(System.getProperty("stadium.vectors"), name));
    }

    @Test
    void ketamaPutsKeysWhereLibmemcachedDoes() throws Exception {
        int keys = 0;
        for (JsonNode ring : vectors("ketama.json").get("rings")) {
            ClientBuilder settings = MemcacheClient.builder().routing(Routing.KETAMA);
            List<Address> servers = new ArrayList<>();
            for (JsonNode server : ring.get("servers")) {
                Address address = new Address.Tcp(
                        server.get("host").asText(), server.get("port").asInt());
                servers.add(address);
                settings.server(address, server.get("weight").asInt());
            }
            try (MemcacheClient client = settings.build()) {
                for (JsonNode one : ring.get("keys")) {
                    assertEquals(servers.get(one.get("server").asInt()),
                            client.serverOf(one.get("key").asText()), one.toString());
                    keys++;
                }
            }
        }
        assertEquals(480, keys);
    }

    /** The servers that rendezvous chooses must not change: whole caches would be lost. */
    @Test
    void rendezvousPutsKeysWhereTheClientInRustDoes() throws Exception {
        JsonNode vectors = vectors("rendezvous.json");
        ClientBuilder settings = MemcacheClient.builder();
        for (JsonNode server : vectors.get("servers")) {
            settings.server(Address.parse(server.get("address").asText()),
                    server.get("weight").asInt());
        }
        int keys = 0;
        try (MemcacheClient client = settings.build()) {
            for (Map.Entry<String, JsonNode> one : vectors.get("keys").properties()) {
                assertEquals(one.getValue().asText(), client.serverOf(one.getKey()).toString());
                keys++;
            }
        }
        assertTrue(keys > 50, keys + " keys");
    }

    @Test
    void aServerThatGoesMovesItsOwnKeysOnlyAndSharesFollowWeights() {
        int[] weights = {1, 2, 5};
        List<Member> members = IntStream.range(0, weights.length)
                .mapToObj(at -> new Member(Address.parse("10.0.0." + at), weights[at], 0)).toList();
        for (Routing routing : Routing.values()) {
            Router router = Router.of(routing, members);
            int[] counts = new int[weights.length];
            for (int number = 0; number < 8_000; number++) {
                byte[] key = ("key:" + number).getBytes();
                int before = router.choose(key, at -> true);
                int after = router.choose(key, at -> at != 2);
                counts[before]++;
                assertTrue(after != 2 && (before == 2 || before == after), routing.toString());
                assertEquals(-1, router.choose(key, at -> false));
            }
            for (int at = 0; at < weights.length; at++) {
                int share = weights[at] * 1_000;
                assertTrue(counts[at] > share * 0.7 && counts[at] < share * 1.3,
                        routing + " " + counts[at]);
            }
        }
    }

    @Test
    void addressesAreReadAndShown() {
        Map.of("cache", "cache:11211", "cache:5", "cache:5", "[::1]:5", "[::1]:5", "::1",
                "[::1]:11211", "[::1]", "[::1]:11211", "/run/memcached.sock",
                "/run/memcached.sock").forEach((text, shown) ->
                assertEquals(shown, Address.parse(text).toString()));
        for (String text : List.of("", ":5", "cache:", "cache:0", "cache:99999", "cache:x")) {
            assertThrows(IllegalArgumentException.class, () -> Address.parse(text), text);
        }
    }

    private static ClientBuilder settings(List<Memcached> servers) {
        ClientBuilder settings = MemcacheClient.builder()
                .eject(2, Duration.ofMillis(100)).timeout(Duration.ofSeconds(2))
                .backoff(Duration.ofMillis(1), Duration.ofMillis(5));
        servers.forEach(server -> settings.servers(server.address));
        return settings;
    }

    private static List<String> keys() {
        return IntStream.range(0, 60).mapToObj(at -> "key:" + at).toList();
    }

    @Test
    void withoutFailoverOnlyTheKeysOfADeadServerFail() throws Exception {
        try (Memcached first = Memcached.tcp(); Memcached second = Memcached.tcp();
                Memcached third = Memcached.tcp();
                MemcacheClient client = settings(List.of(first, second, third)).build()) {
            for (String key : keys()) {
                client.set(key, key, NEVER).await();
            }
            second.kill();
            List<Outcome<Value>> outcomes = client.multiget(keys());
            List<String> failed = new ArrayList<>();
            for (int at = 0; at < outcomes.size(); at++) {
                String key = keys().get(at);
                if (client.serverOf(key).toString().equals(second.address)) {
                    assertThrows(Disconnected.class, outcomes.get(at)::get);
                    failed.add(key);
                } else {
                    assertEquals(key, outcomes.get(at).get().utf8());
                }
            }
            assertTrue(failed.size() > 5);
            assertEquals(List.of(Address.parse(second.address)), client.ejected());
            assertEquals(2, client.stats("").values().stream().filter(Outcome::isOk).count());

            // A trial finds it back.
            second.start();
            Soon.until("it is back", () -> client.get(failed.get(0)) == null);
            assertEquals(List.of(), client.ejected());
        }
    }

    @Test
    void withFailoverTheNextServerTakesTheKeys() throws Exception {
        try (Memcached first = Memcached.tcp(); Memcached second = Memcached.tcp();
                Memcached third = Memcached.tcp();
                MemcacheClient client = settings(List.of(first, second, third))
                        .failover(Failover.NEXT).routing(Routing.KETAMA).build()) {
            third.kill();
            Soon.until("it is ejected", () -> {
                client.multiget(keys());
                return !client.ejected().isEmpty();
            });
            int stored = 0;
            for (String key : keys()) {
                try {
                    client.set(key, key, NEVER).await();
                    stored++;
                } catch (Disconnected error) {
                    // A trial may fail; the next try goes elsewhere.
                }
            }
            assertTrue(stored >= keys().size() - 5, stored + " are stored");
        }
    }
}
