package io.stadium.rsocket.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.metadata.CompositeMetadata;
import io.stadium.rsocket.metadata.Routing;
import io.stadium.rsocket.metadata.WellKnownMimeType;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;

/** A warm connection allocates nothing for a message. */
class AllocationTest {
    private static final int EXCHANGES = 100_000;
    private static final int AT_A_TIME = 200;

    private final ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private final ByteBuf up = Unpooled.directBuffer(1 << 20);
    private final ByteBuf down = Unpooled.directBuffer(1 << 20);
    private final ByteBuf message = Unpooled.directBuffer(48).writeZero(48);
    private final ByteBuf metadata = Unpooled.directBuffer(64);
    private final int[] late = new int[AT_A_TIME];
    private final CompositeMetadata cursor = new CompositeMetadata();
    private int lates;
    private int responses;
    private Connection server;
    private Connection client;

    /** Answers every fourth request at once, the others later. */
    private final Listener responder = new Idle() {
        @Override
        public void onSetup(Setup setup) {
            server.accept();
        }

        @Override
        public void onRequest(int streamId, Interaction interaction, int initialRequestN,
                Payload payload) {
            cursor.reset(payload.metadata(), payload.metadataIndex(), payload.metadataLength());
            if (!cursor.find(WellKnownMimeType.ROUTING)) {
                throw new AssertionError("no route");
            }
            if (streamId % 8 == 1) {
                respond(streamId);
            } else {
                late[lates++] = streamId;
            }
        }
    };

    private final Listener requester = new Idle() {
        @Override
        public void onPayload(int streamId, Object attachment, Payload payload) {
            responses += payload.dataLength() == 48 ? 1 : 0;
        }
    };

    private void respond(int streamId) {
        server.payload(streamId, Completion.COMPLETE, null, message, PayloadWriter.BUFFER, down);
    }

    private void exchange(int exchanges, int atATime) {
        for (int done = 0; done < exchanges; done += atATime) {
            for (int nth = 0; nth < atATime; nth++) {
                client.request(
                        Interaction.REQUEST_RESPONSE, 1, Completion.COMPLETE, this, metadata,
                        message,
                        PayloadWriter.BUFFER, up);
            }
            server.receive(1, up, down);
            for (int nth = 0; nth < lates; nth++) {
                respond(late[nth]);
            }
            lates = 0;
            client.receive(1, down, up);
            up.clear();
            down.clear();
        }
    }

    @Test
    void aWarmRequestAndItsResponseAllocateNothing() {
        Routing.write(metadata, "geo/Store");
        client = Connection.client(
                Config.DEFAULT, SetupOptions.DEFAULT, UnpooledByteBufAllocator.DEFAULT, requester,
                0, up);
        server = Connection.server(Config.DEFAULT, UnpooledByteBufAllocator.DEFAULT, responder, 0);
        server.receive(0, up, down);
        up.clear();
        exchange(20_000, AT_A_TIME);
        long thread = Thread.currentThread().getId();
        threads.getThreadAllocatedBytes(thread);
        long allocated = Long.MAX_VALUE;
        // The JVM itself may allocate once, when it loads or compiles something.
        for (int round = 0; round < 3 && allocated != 0; round++) {
            responses = 0;
            long before = threads.getThreadAllocatedBytes(thread);
            exchange(EXCHANGES / 2, AT_A_TIME);
            exchange(EXCHANGES / 2, 1);
            allocated = threads.getThreadAllocatedBytes(thread) - before;
            assertEquals(EXCHANGES, responses);
        }
        assertEquals(0, allocated, "bytes in " + EXCHANGES + " exchanges");
    }

    @Test
    void theMeasurementMeasures() {
        long thread = Thread.currentThread().getId();
        long before = threads.getThreadAllocatedBytes(thread);
        byte[] bytes = new byte[10_000];
        assertTrue(threads.getThreadAllocatedBytes(thread) - before >= bytes.length);
    }

    /** Ignores all events. */
    private static class Idle implements Listener {
        @Override
        public void onSetup(Setup setup) {}

        @Override
        public void onRequest(int streamId, Interaction interaction, int initialRequestN,
                Payload payload) {}

        @Override
        public void onPayload(int streamId, Object attachment, Payload payload) {}

        @Override
        public void onComplete(int streamId, Object attachment) {}

        @Override
        public void onRequestN(int streamId, Object attachment, int n) {}

        @Override
        public void onCancel(int streamId, Object attachment, CancelScope scope) {}

        @Override
        public void onError(int streamId, Object attachment, int code, Payload text) {}

        @Override
        public void onMetadataPush(Payload metadata) {}

        @Override
        public void onLease(int ttlMs, int requests) {}

        @Override
        public void onClosing(String text) {}

        @Override
        public void onClosed(Closed closed) {}
    }
}
