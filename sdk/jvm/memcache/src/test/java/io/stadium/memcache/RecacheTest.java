package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** One caller makes a value anew; the others keep the old one. */
@Timeout(60)
class RecacheTest {
    private static final Recache HOW = new Recache(Duration.ofSeconds(30), Duration.ofSeconds(10));
    private static final Expiry NEVER = Expiry.NEVER;

    @Test
    void oneCallerMakesAMissingValueAndThenAStaleOne() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient client = server.client()) {
            Lookup.Make make = assertInstanceOf(Lookup.Make.class, client.lookup("k", HOW));
            assertEquals(new Lookup.Made(), client.lookup("k", HOW));
            client.cas("k", "v1".getBytes(UTF_8), make.cas(), NEVER).await();
            Lookup.Fresh fresh = assertInstanceOf(Lookup.Fresh.class, client.lookup("k", HOW));
            assertEquals("v1", fresh.value().utf8());

            assertTrue(client.invalidate("k", Expiry.seconds(60)).await());
            Lookup.Won won = assertInstanceOf(Lookup.Won.class, client.lookup("k", HOW));
            assertEquals("v1", won.value().utf8());
            Lookup.Stale stale = assertInstanceOf(Lookup.Stale.class, client.lookup("k", HOW));
            assertEquals("v1", stale.value().utf8());
            assertFalse(client.invalidate("none").await());
        }
    }

    @Test
    void oneCallerMakesAValueThatIsAboutToExpire() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient client = server.client()) {
            client.set("k", "v", Expiry.seconds(5)).await();
            assertInstanceOf(Lookup.Won.class, client.lookup("k", HOW));
            assertInstanceOf(Lookup.Stale.class, client.lookup("k", HOW));
        }
    }

    @Test
    void eightReadersMakeAValueOnce() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient client = server.client()) {
            AtomicInteger made = new AtomicInteger();
            Soon.together(8, thread -> {
                Value value = client.readThrough("k", HOW, NEVER, () -> {
                    made.incrementAndGet();
                    return "costly".getBytes(UTF_8);
                });
                assertEquals("costly", value.utf8());
            });
            assertEquals(1, made.get());
            // A failure is the caller's, and others wait no longer than their deadline.
            assertThrows(IOException.class, () -> client.readThrough("bad", HOW, NEVER, () -> {
                throw new IOException("no");
            }));
            MemcacheClient hasty = client.withTimeout(Duration.ofMillis(50));
            Soon.within(1_000, () -> {
                assertThrows(DeadlineExceeded.class,
                        () -> hasty.readThrough("bad", HOW, NEVER, () -> new byte[0]));
                return true;
            });
        }
    }
}
