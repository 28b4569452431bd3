package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.impl.KetamaMemcachedSessionLocator;
import net.rubyeye.xmemcached.utils.AddrUtil;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Xmemcached reads what this client wrote, and this client what Xmemcached wrote. */
@Timeout(60)
class InteroperationTest {
    private static MemcachedClient xmemcached(Memcached... servers) throws Exception {
        StringBuilder addresses = new StringBuilder();
        for (Memcached server : servers) {
            addresses.append(server.address).append(' ');
        }
        XMemcachedClientBuilder builder =
                new XMemcachedClientBuilder(AddrUtil.getAddresses(addresses.toString().strip()));
        // Servers are named as libmemcached does; without it, as java.net shows an address.
        builder.setSessionLocator(new KetamaMemcachedSessionLocator(true));
        builder.setOpTimeout(TimeUnit.SECONDS.toMillis(5));
        return builder.build();
    }

    @Test
    void eachReadsWhatTheOtherWrote() throws Exception {
        try (Memcached server = Memcached.tcp(); MemcacheClient ours = server.client()) {
            MemcachedClient theirs = xmemcached(server);
            ours.set("ours", "grüße", Expiry.NEVER).await();
            assertEquals("grüße", theirs.get("ours"));
            theirs.set("theirs", 60, "straße");
            assertEquals("straße", ours.get("theirs").utf8());

            byte[] bytes = new byte[10_000];
            for (int at = 0; at < bytes.length; at++) {
                bytes[at] = (byte) (at * 7 / 3);
            }
            theirs.set("bytes", 0, bytes);
            Value read = ours.gets("bytes");
            assertArrayEquals(bytes, read.bytes());
            // Its flags name its type.
            ours.cas("bytes", "x".getBytes(UTF_8), read.cas(), Expiry.NEVER).await();
            ours.set("again", bytes, read.flags(), Expiry.NEVER).await();
            assertArrayEquals(bytes, theirs.<byte[]>get("again"));

            ours.set("n", "5", Expiry.NEVER).await();
            assertEquals(8, theirs.incr("n", 3));
            assertEquals(9, ours.incr("n", 1).await());
            theirs.delete("ours");
            assertEquals(null, ours.get("ours"));
            theirs.shutdown();
        }
    }

    @Test
    void bothPutKeysOnTheSameOfThreeServers() throws Exception {
        try (Memcached first = Memcached.tcp(); Memcached second = Memcached.tcp();
                Memcached third = Memcached.tcp();
                MemcacheClient ours = MemcacheClient.builder().routing(Routing.KETAMA)
                        .servers(first.address, second.address, third.address).build()) {
            MemcachedClient theirs = xmemcached(first, second, third);
            Map<Address, Integer> counts = new HashMap<>();
            for (int at = 0; at < 200; at++) {
                String key = "key:" + at;
                counts.merge(ours.serverOf(key), 1, Integer::sum);
                if (at % 2 == 0) {
                    ours.set(key, key, Expiry.NEVER).await();
                    assertEquals(key, theirs.get(key));
                } else {
                    theirs.set(key, 0, key);
                    assertEquals(key, ours.get(key).utf8());
                }
            }
            assertEquals(3, counts.size(), counts.toString());
            theirs.shutdown();
        }
    }
}
