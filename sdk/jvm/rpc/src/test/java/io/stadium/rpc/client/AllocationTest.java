package io.stadium.rpc.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.stadium.rpc.RpcException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A warm call allocates its own state and its answer, and little else. */
@Timeout(60)
class AllocationTest {
    private static final int IN_FLIGHT = 100;
    private static final int WARM_UP = 100_000;
    private static final int CALLS = 100_000;

    /**
     * The state of a call, an answer of 48 bytes, and a share of what a batch allocates: 160 bytes
     * where this test runs alone. Classes that other tests have loaded make the compiler inline less.
     */
    private static final int BYTES_MAX = 320;

    private static final int ROUNDS_MAX = 20;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /**
     * Keeps so many calls in flight from the event loop, in rounds: the compiler of a busy machine
     * comes late, and code that it has not compiled allocates more. The round that allocates least
     * counts.
     */
    private final class Caller implements AnswerHandler<byte[]> {
        private final RpcClient client;
        private final byte[] request = new byte[48];
        private final CompletableFuture<Long> bytes = new CompletableFuture<>();
        private int answers;
        private int rounds;
        private long before;
        private long least = Long.MAX_VALUE;

        Caller(RpcClient client) {
            this.client = client;
        }

        void call() {
            client.call(Peer.ECHO, request, CallOptions.DEFAULT, this);
        }

        @Override
        public void onAnswer(byte[] answer) {
            answers++;
            if (answers == WARM_UP) {
                before = threads.getCurrentThreadAllocatedBytes();
            }
            if (answers == WARM_UP + CALLS) {
                long now = threads.getCurrentThreadAllocatedBytes();
                least = Math.min(least, now - before);
                rounds++;
                if (least <= BYTES_MAX * (long) CALLS || rounds == ROUNDS_MAX) {
                    bytes.complete(least);
                } else {
                    answers = WARM_UP;
                    before = now;
                }
            }
            if (!bytes.isDone()) {
                call();
            }
        }

        @Override
        public void onFailure(RpcException failure) {
            bytes.completeExceptionally(failure);
        }
    }

    @Test
    void aWarmCallAllocatesLittle() throws Exception {
        try (Peer peer = new Peer(); RpcClient client = RpcClient.builder()
                .instances(peer.address()).busyPoll(Duration.ZERO).start()) {
            assertEquals(48, client.callBlocking(Peer.ECHO, new byte[48]).length);
            Caller caller = new Caller(client);
            for (int nth = 0; nth < IN_FLIGHT; nth++) {
                caller.call();
            }
            long each = caller.bytes.get(50, TimeUnit.SECONDS) / CALLS;
            System.out.println("bytes of a call: " + each);
            assertTrue(each <= BYTES_MAX, each + " bytes a call");
        }
    }
}
