package io.stadium.memcache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** twemproxy before a server: it knows no meta commands, and hangs up on the first one. */
@Timeout(60)
class ProxyTest {
    @TempDir
    private Path folder;

    private Process proxy(String listen, Memcached server) throws Exception {
        Path file = folder.resolve("nutcracker.yml");
        Files.writeString(file, String.join("\n",
                "pool:",
                "  listen: " + listen,
                "  hash: md5",
                "  distribution: ketama",
                "  servers:",
                "   - " + server.address + ":1",
                ""));
        Process proxy = new ProcessBuilder("nutcracker", "-c", file.toString(), "-a", "127.0.0.1",
                "-s", Integer.toString(Memcached.freePort())).redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        Runtime.getRuntime().addShutdownHook(new Thread(proxy::destroyForcibly));
        return proxy;
    }

    @Test
    void aProxyWithoutTheMetaProtocolIsSpokenToByTheClassicOne() throws Exception {
        String listen = folder.resolve("sock").toString();
        try (Memcached server = Memcached.tcp()) {
            Process proxy = proxy(listen, server);
            try (MemcacheClient client = MemcacheClient.builder().servers(listen)
                    .timeout(Duration.ofSeconds(10)).build()) {
                Soon.until("the proxy answers", () -> {
                    client.connectAll();
                    return true;
                });
                List<String> keys = new ArrayList<>();
                for (int number = 0; number < 50; number++) {
                    keys.add("key:" + number);
                    client.set(keys.get(number), "value " + number, Expiry.NEVER).ignore();
                }
                List<Outcome<Value>> values = client.multiget(keys);
                for (int number = 0; number < 50; number++) {
                    assertEquals("value " + number, values.get(number).get().utf8());
                }
                client.set("n", "41", Expiry.NEVER).await();
                assertEquals(42, client.incr("n", 1).await());
                Recache recache = new Recache(Duration.ofSeconds(1), Duration.ofSeconds(1));
                assertThrows(NeedsMeta.class, () -> client.lookup("n", recache));
            } finally {
                proxy.destroyForcibly();
            }
        }
    }
}
