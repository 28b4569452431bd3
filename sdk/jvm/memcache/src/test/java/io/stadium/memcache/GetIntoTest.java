package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Values that go into a buffer of the caller. */
@Timeout(60)
class GetIntoTest {
    private static final Expiry NEVER = Expiry.NEVER;

    private static String text(ByteBuffer buffer) {
        return UTF_8.decode(buffer.flip()).toString();
    }

    @Test
    void valuesGoBehindThePositionAndAMissLeavesIt() throws Exception {
        for (Dialect dialect : Dialect.values()) {
            try (Memcached server = Memcached.unix();
                    MemcacheClient client = server.settings().dialect(dialect).build()) {
                client.set("k", "value".getBytes(UTF_8), (int) 4_000_000_000L, NEVER).ignore();
                for (ByteBuffer buffer : new ByteBuffer[] {ByteBuffer.allocate(20),
                    ByteBuffer.allocateDirect(20), ByteBuffer.wrap(new byte[40], 3, 20).slice()}) {
                    buffer.put((byte) '=');
                    assertEquals(4_000_000_000L, client.getInto("k", buffer));
                    assertEquals(-1, client.getInto("none", buffer));
                    assertEquals(4_000_000_000L, client.getInto("k", buffer));
                    assertEquals("=valuevalue", text(buffer));
                }
                ByteBuffer exact = ByteBuffer.allocate(5);
                client.getInto("k", exact);
                assertEquals("value", text(exact));
            }
        }
    }

    @Test
    void aBufferThatCannotTakeTheValueStaysAsItWas() throws Exception {
        byte[] zeros = new byte[10_000];
        try (Memcached server = Memcached.unix();
                MemcacheClient client = server.settings().compressFrom(100).build()) {
            client.set("k", "value", NEVER).ignore();
            client.set("compressed", zeros, 7, NEVER).ignore();
            for (String key : new String[] {"k", "compressed"}) {
                ByteBuffer small = ByteBuffer.allocate(4);
                TooLarge error = assertThrows(TooLarge.class, () -> client.getInto(key, small));
                assertEquals(4, error.bytesMax());
                assertEquals(ByteBuffer.allocate(4), small);
            }
            ByteBuffer readOnly = ByteBuffer.allocate(100).asReadOnlyBuffer();
            assertThrows(ReadOnlyBufferException.class, () -> client.getInto("k", readOnly));
            ByteBuffer buffer = ByteBuffer.wrap(new byte[20_000]);
            Arrays.fill(buffer.array(), (byte) 1);
            assertEquals(7, client.getInto("compressed", buffer));
            assertEquals(10_000, buffer.position());
            assertArrayEquals(zeros, Arrays.copyOf(buffer.array(), 10_000));
        }
    }

    @Test
    void aLateAnswerDoesNotReachABufferWhoseCallerLeft() throws Exception {
        try (Memcached server = Memcached.unix(); MemcacheClient client = server.client()) {
            client.set("k", "value", NEVER).await();
            ByteBuffer buffer = ByteBuffer.allocate(10);
            server.pause();
            MemcacheClient hasty = client.withTimeout(Duration.ofMillis(20));
            assertThrows(DeadlineExceeded.class, () -> hasty.getInto("k", buffer));
            Thread.currentThread().interrupt();
            assertThrows(Interrupted.class, () -> client.getInto("k", buffer));
            assertTrue(Thread.interrupted());
            server.resume();
            // Its answer comes behind those.
            assertEquals("value", client.get("k").utf8());
            assertEquals(ByteBuffer.allocate(10), buffer);
        }
    }

    @Test
    void eightThreadsReadIntoTheirBuffersThroughRestarts() throws Exception {
        try (Memcached server = Memcached.tcp(); MemcacheClient client = server.client()) {
            Soon.together(9, thread -> {
                if (thread == 8) {
                    for (int at = 0; at < 5; at++) {
                        Thread.sleep(30);
                        server.start();
                    }
                    return;
                }
                ByteBuffer buffer = ByteBuffer.allocate(100);
                long end = System.nanoTime() + Duration.ofMillis(300).toNanos();
                for (int number = 0; System.nanoTime() < end; number++) {
                    String value = thread + ":" + number;
                    buffer.clear();
                    try {
                        client.set("k" + thread, value, NEVER).await();
                        if (client.getInto("k" + thread, buffer) >= 0) {
                            assertEquals(value, text(buffer));
                        }
                    } catch (Disconnected error) {
                        assertEquals(0, buffer.position());
                    }
                }
            });
        }
    }

    /**
     * A warm get into a buffer allocates two objects: the bytes of its key in the form in which
     * they are sent, and the operation, which other threads may still refer to when the caller has
     * its answer. Neither depends on the value.
     */
    @Test
    void aWarmGetAllocatesItsKeyAndItsOperationOnly() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        // With compressed references, as every heap below 32 GB has them.
        int operationBytes = 120;
        int keyBytes = 24;
        try (Memcached server = Memcached.unix(); MemcacheClient client = server.client()) {
            for (int valueBytes : new int[] {10, 10_000}) {
                client.set("thekey", new byte[valueBytes], NEVER).await();
                ByteBuffer buffer = ByteBuffer.allocateDirect(valueBytes);
                int rounds = 4_000;
                // The least of several: a sleep in the socket and the compiler's work add to it.
                long least = Long.MAX_VALUE;
                for (int batch = 0; batch < 6; batch++) {
                    long before = threads.getCurrentThreadAllocatedBytes();
                    for (int round = 0; round < rounds; round++) {
                        assertEquals(0, client.getInto("thekey", buffer.clear()));
                    }
                    long after = threads.getCurrentThreadAllocatedBytes();
                    least = Math.min(least, (after - before) / rounds);
                }
                assertTrue(least <= operationBytes + keyBytes, least + " bytes for each get");
            }
        }
    }
}
