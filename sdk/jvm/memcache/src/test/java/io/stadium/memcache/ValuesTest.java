package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.zip.DeflaterOutputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Compression, expiries, and the observer. */
@Timeout(60)
class ValuesTest {
    private static final Expiry NEVER = Expiry.NEVER;

    private static byte[] zlib(byte[] bytes) throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (DeflaterOutputStream deflater = new DeflaterOutputStream(out)) {
            deflater.write(bytes);
        }
        return out.toByteArray();
    }

    @Test
    void valuesAreCompressedFromAThresholdWhereTheyBecomeSmaller() throws Exception {
        byte[] text = "stadium ".repeat(10_000).getBytes(UTF_8);
        byte[] noise = new byte[5_000];
        new Random(7).nextBytes(noise);
        try (Memcached server = Memcached.unix(); MemcacheClient plain = server.client();
                MemcacheClient client = server.settings().compressFrom(100).build()) {
            client.set("text", text, 5, NEVER).await();
            client.set("noise", noise, NEVER).await();
            client.set("short", new byte[99], NEVER).await();
            client.set("number", "5", NEVER).await();
            assertEquals(6, client.incr("number", 1).await());
            // A client without compression reads it too.
            for (MemcacheClient reader : List.of(client, plain)) {
                assertArrayEquals(text, reader.get("text").bytes());
                assertEquals(5, reader.gets("text").flags());
                assertArrayEquals(noise, reader.get("noise").bytes());
                assertArrayEquals(new byte[99], reader.get("short").bytes());
            }
            long stored = Long.parseLong(
                    plain.stats("").values().iterator().next().get().get("bytes"));
            assertTrue(stored < 8_000, stored + " bytes");
            assertThrows(BadFlags.class,
                    () -> client.set("k", noise, Value.COMPRESSED | 1, NEVER));

            client.append("text", new byte[] {1}).await();
            assertThrows(DamagedValue.class, () -> client.get("text"));
        }
    }

    @Test
    void damagedAndTooLongStreamsAreRefused() throws Exception {
        byte[] bytes = new byte[100_000];
        byte[] stream = zlib(bytes);
        assertArrayEquals(bytes, Compression.decompress(stream, 100_000));
        assertThrows(DamagedValue.class, () -> Compression.decompress(stream, 99_999));
        for (int cut = 0; cut < stream.length; cut++) {
            byte[] part = Arrays.copyOf(stream, cut);
            assertThrows(DamagedValue.class, () -> Compression.decompress(part, 100_000));
        }
        byte[] changed = stream.clone();
        changed[stream.length - 1]++;
        assertThrows(DamagedValue.class, () -> Compression.decompress(changed, 100_000));
        assertArrayEquals(bytes,
                Compression.decompress(Compression.compress(bytes), 1 << 20));
        assertNull(Compression.compress(new byte[] {1, 2, 3}));
        assertArrayEquals(new byte[0], Compression.decompress(zlib(new byte[0]), 0));
    }

    @Test
    void expiriesAreSecondsOrATime() {
        assertEquals(0, NEVER.onWire());
        assertEquals(-1, Expiry.seconds(0).onWire());
        assertEquals(-1, Expiry.seconds(-5).onWire());
        assertEquals(1, Expiry.after(Duration.ofMillis(1)).onWire());
        assertEquals(2_592_000, Expiry.after(Duration.ofDays(30)).onWire());
        assertTrue(Expiry.seconds(2_592_001).onWire() > System.currentTimeMillis() / 1_000);
        assertEquals(Integer.MAX_VALUE, Expiry.seconds(Long.MAX_VALUE).onWire());
    }

    @Test
    void theObserverSeesEveryOperationOnce() throws Exception {
        ConcurrentLinkedQueue<String> seen = new ConcurrentLinkedQueue<>();
        Observer observer = new Observer() {
            @Override
            public Object started(String operation, Address server) {
                return operation + "!";
            }

            @Override
            public void finished(String operation, Address server, Object started, long nanos,
                    MemcacheException error) {
                assertTrue(nanos >= 0 && started.equals(operation + "!"));
                seen.add(operation + " "
                        + (error == null ? "ok" : error.getClass().getSimpleName()));
            }
        };
        try (Memcached server = Memcached.unix();
                MemcacheClient client = server.settings().observer(observer).build()) {
            client.set("word", "x", NEVER).ignore();
            client.get("word");
            assertThrows(ClientError.class, () -> client.incr("word", 1).await());
            server.pause();
            MemcacheClient hasty = client.withTimeout(Duration.ofMillis(30));
            assertThrows(DeadlineExceeded.class, () -> hasty.get("word"));
            assertThrows(DeadlineExceeded.class, () -> {
                try {
                    hasty.fetch("word").toCompletableFuture().join();
                } catch (java.util.concurrent.CompletionException error) {
                    throw error.getCause();
                }
            });
            server.resume();
            client.get("word");
            Soon.until("all have ended", () -> seen.size() >= 6);
            assertEquals(List.of("get DeadlineExceeded", "get DeadlineExceeded", "get ok", "get ok",
                    "incr ClientError", "set ok"), seen.stream().sorted().toList());
        }
    }
}
