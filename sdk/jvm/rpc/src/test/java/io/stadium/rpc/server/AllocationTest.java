package io.stadium.rpc.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.StreamHandler;
import java.lang.management.ManagementFactory;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A warm inline call allocates its message, and little else, on the server's loop. */
@Timeout(120)
class AllocationTest {
    private static final int WARM = 30_000;
    private static final int CALLS = 50_000;

    /** Two hundred in flight: each answer sends the next request. */
    private static final class Load implements StreamHandler {
        private final RSocket rsocket;
        private final ByteBuf metadata = Unpooled.wrappedBuffer(
                Caller.metadata("test/Echo", 60_000));
        private final byte[] request = new byte[16];
        private CompletableFuture<Void> done;
        private int toSend;
        private int toCome;

        Load(RSocket rsocket) {
            this.rsocket = rsocket;
        }

        void run(int calls) throws Exception {
            CompletableFuture<Void> ended = new CompletableFuture<>();
            rsocket.execute(() -> {
                done = ended;
                toSend = calls;
                toCome = calls;
                for (int nth = 0; nth < 200; nth++) {
                    send();
                }
            });
            ended.get(Caller.SOON_S, TimeUnit.SECONDS);
        }

        private void send() {
            if (toSend-- > 0) {
                rsocket.request(Interaction.REQUEST_RESPONSE, 1, Completion.COMPLETE, this,
                        metadata, request, PayloadWriter.BYTES);
            }
        }

        @Override
        public void onPayload(RSocket connection, int stream, Payload payload) {
            if (--toCome == 0) {
                done.complete(null);
            } else {
                send();
            }
        }

        @Override
        public void onError(RSocket connection, int stream, int code, Payload text) {
            done.completeExceptionally(new AssertionError(text.dataUtf8()));
        }
    }

    @Test
    void aWarmInlineCallAllocatesLittle() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long[] loopThread = new long[1];
        try (RpcServer server = ServerTest.on(ServerTest.service().inline(
                ServerTest.unary("Echo"), (call, request) -> {
                    loopThread[0] = Thread.currentThread().getId();
                    return request;
                })).start(); Caller caller = new Caller(server)) {
            Load load = new Load(caller.rsocket);
            load.run(WARM);
            long before = threads.getThreadAllocatedBytes(loopThread[0]);
            load.run(CALLS);
            long bytes = threads.getThreadAllocatedBytes(loopThread[0]) - before;
            // The array of 16 bytes has 32; housekeeping and tasks of the loop come on top.
            double each = (double) bytes / CALLS;
            System.out.printf("allocated for each inline call: %.1f bytes%n", each);
            assertTrue(each < 64, each + " bytes for each call");
            assertEquals(0, server.sum(Counts.Figure.INFLIGHT));
        }
    }
}
