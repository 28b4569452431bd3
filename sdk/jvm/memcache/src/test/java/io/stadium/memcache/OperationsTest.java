package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every operation, in both dialects, over TCP and Unix sockets. */
@Timeout(60)
class OperationsTest {
    private static final Expiry NEVER = Expiry.NEVER;

    private static byte[] b(String text) {
        return text.getBytes(UTF_8);
    }

    private static String text(MemcacheClient client, String key) {
        Value value = client.get(key);
        return value == null ? null : value.utf8();
    }

    @Test
    void everyOperationWorksInBothDialectsOverTcpAndUnixSockets() throws Exception {
        for (Dialect dialect : Dialect.values()) {
            try (Memcached tcp = Memcached.tcp(); Memcached unix = Memcached.unix()) {
                for (Memcached server : List.of(tcp, unix)) {
                    try (MemcacheClient client = server.settings().dialect(dialect).build()) {
                        every(client);
                    }
                }
            }
        }
    }

    /** Carries out every operation on a server that is empty. */
    static void every(MemcacheClient client) {
        stores(client);
        numbersAndRemovals(client);
        reads(client);
    }

    private static void stores(MemcacheClient client) {
        assertNull(client.get("missing"));
        client.set("a", "1", NEVER).await();
        assertEquals("1", text(client, "a"));
        client.set("flagged", b("x"), (int) 4_000_000_000L, Expiry.seconds(60)).ignore();
        assertEquals((int) 4_000_000_000L, client.get("flagged").flags());
        assertEquals(Stored.NOT_STORED, client.add("a", b("2"), NEVER).await());
        assertEquals(Stored.STORED, client.add("b", b("2"), NEVER).await());
        assertEquals(Stored.NOT_STORED, client.replace("none", b("2"), NEVER).await());
        assertEquals(Stored.STORED, client.replace("b", b("3"), NEVER).await());
        assertEquals(Stored.STORED, client.append("b", b("4")).await());
        assertEquals(Stored.STORED, client.prepend("b", b("2")).await());
        assertEquals("234", text(client, "b"));
        assertEquals(Stored.NOT_STORED, client.append("none", b("4")).await());
        long cas = client.gets("a").cas();
        assertEquals(Stored.STORED, client.cas("a", b("5"), cas, NEVER).await());
        assertEquals(Stored.CHANGED, client.cas("a", b("6"), cas, NEVER).await());
        assertEquals(Stored.MISSING, client.cas("none", b("6"), cas, NEVER).await());
        assertNull(client.gets("none"));
        client.set("gone", "x", Expiry.seconds(0)).ignore();
        assertNull(client.get("gone"));
    }

    private static void numbersAndRemovals(MemcacheClient client) {
        assertEquals(240, client.incr("b", 6).await());
        assertEquals(0, client.decr("b", 300).await());
        assertNull(client.incr("none", 1).await());
        client.set("word", "x", NEVER).ignore();
        assertThrows(ClientError.class, () -> client.incr("word", 1).await());
        client.set("wide", "18446744073709551614", NEVER).ignore();
        assertEquals(-1L, client.incr("wide", 1).await());
        assertTrue(client.touch("a", Expiry.seconds(100)).await());
        assertFalse(client.touch("none", Expiry.seconds(100)).await());
        assertTrue(client.delete("a").await());
        assertFalse(client.delete("a").await());
    }

    private static void reads(MemcacheClient client) {
        client.set("b", "7", NEVER).ignore();
        List<String> many = client.multiget(List.of("b", "none", "word", "b")).stream()
                .map(one -> one.get() == null ? null : one.get().utf8())
                .collect(Collectors.toList());
        assertEquals(Arrays.asList("7", null, "x", "7"), many);
        client.setAs(Format.UTF8, "text", "grüße", NEVER).ignore();
        assertEquals("grüße", client.getAs(Format.UTF8, "text"));
        assertNull(client.getAs(Format.UTF8, "none"));
        assertThrows(FormatError.class, () -> client.getAs(Format.UTF8, "flagged"));
        Map<String, String> statistics =
                client.stats("").values().iterator().next().get();
        assertTrue(Long.parseLong(statistics.get("cmd_get")) > 0);
        assertEquals(statistics.get("version"),
                client.versions().values().iterator().next().get());
        assertThrows(IllegalArgumentException.class, () -> client.stats("items\r\nflush_all"));
    }

    @Test
    void keysOfAnyBytesWorkWithTheMetaProtocol() throws Exception {
        byte[] longest = new byte[250];
        Arrays.fill(longest, (byte) 'k');
        try (Memcached server = Memcached.unix(); MemcacheClient texts = server.client()) {
            MemcacheOperations<byte[]> client = texts.byteKeys();
            List<byte[]> keys = List.of(
                    b("a b"), new byte[] {0, 13, 10, -1}, b("schlüssel"), new byte[186], longest);
            for (int at = 0; at < keys.size(); at++) {
                client.set(keys.get(at), Integer.toString(at), NEVER).ignore();
            }
            assertEquals("2", texts.get("schlüssel").utf8());
            for (int at = 0; at < keys.size(); at++) {
                byte[] key = keys.get(at);
                assertEquals(Integer.toString(at), client.get(key).utf8());
                assertEquals(at + 10, client.incr(key, 10).await());
                assertTrue(client.gets(key).cas() != 0);
                assertTrue(client.touch(key, Expiry.seconds(60)).await());
                assertTrue(client.delete(key).await());
            }
            assertThrows(BadKey.class, () -> texts.get(""));
            assertThrows(BadKey.class, () -> client.get(new byte[187]));
            assertThrows(BadKey.class, () -> texts.get("k".repeat(251)));
            try (MemcacheClient classic = server.settings().dialect(Dialect.CLASSIC).build()) {
                assertThrows(BadKey.class, () -> classic.get("a b"));
                assertThrows(NeedsMeta.class, () -> classic.incr("n", 1, 5, NEVER));
                assertThrows(NeedsMeta.class, () -> classic.invalidate("n"));
            }
        }
    }

    @Test
    void numbersAreMadeWhereThereIsNone() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient client = server.client()) {
            assertEquals(40, client.incr("n", 2, 40, NEVER).await());
            assertEquals(42, client.incr("n", 2, 40, NEVER).await());
            assertEquals(7, client.decr("m", 2, 7, Expiry.seconds(9)).await());
        }
    }

    @Test
    void aNamespaceKeepsKeysApart() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient plain = server.client();
                MemcacheClient spaced = server.settings().prefix("app:").build()) {
            spaced.set("k", "1", NEVER).await();
            assertNull(plain.get("k"));
            assertEquals("1", plain.get("app:k").utf8());
            assertEquals("1", spaced.get("k").utf8());
            assertThrows(BadKey.class, () -> spaced.get("k".repeat(247)));
            assertThrows(BadKey.class, () -> spaced.get(""));
        }
    }

    @Test
    void valuesGoUpToTheServersLimit() throws Exception {
        int mib = 1 << 20;
        try (Memcached server = Memcached.unix("-I", "4m", "-m", "64");
                MemcacheClient client = server.settings()
                        .valueBytesMax(5 * mib).unsentBytesMax(8 * mib).build()) {
            byte[] value = new byte[4 * mib - 200];
            for (int at = 0; at < value.length; at++) {
                value[at] = (byte) (at / 7);
            }
            client.set("large", value, NEVER).await();
            assertArrayEquals(value, client.get("large").bytes());
            ServerError error = assertThrows(ServerError.class,
                    () -> client.set("larger", new byte[4 * mib], NEVER).await());
            assertTrue(error.getMessage().contains("too large"));
            assertFalse(error.mayHaveHappened());
            assertTrue(Arrays.stream(error.getStackTrace())
                    .anyMatch(frame -> frame.getClassName().equals(getClass().getName())));
            TooLarge tooLarge = assertThrows(TooLarge.class,
                    () -> client.set("larger", new byte[6 * mib], NEVER));
            assertEquals(5 * mib, tooLarge.bytesMax());
            assertArrayEquals(value, client.get("large").bytes());
        }
    }

    @Test
    void aWriteThatNobodyWaitsForLeavesAndIsConfirmed() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient reader = server.client()) {
            MemcacheClient writer = server.client();
            Pending<Void> pending = writer.set("k", "v", NEVER);
            Soon.until("the set is confirmed", pending::isDone);
            assertEquals("v", reader.get("k").utf8());
            pending.await();
            writer.set("last", "v", NEVER).ignore();
            writer.close();
            Soon.until("a set before the client's end", () -> reader.get("last") != null);
            assertThrows(Disconnected.class, () -> writer.get("k"));
        }
    }
}
