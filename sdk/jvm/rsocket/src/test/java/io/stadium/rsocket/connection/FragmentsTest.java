package io.stadium.rsocket.connection;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.PooledByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.stadium.rsocket.frame.Interaction;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Payloads of any size arrive whole, however they are fragmented and however the transport cuts
 * them.
 */
class FragmentsTest {
    private static final ByteBufAllocator[] ALLOCATORS = {
        UnpooledByteBufAllocator.DEFAULT,
        new UnpooledByteBufAllocator(false),
        PooledByteBufAllocator.DEFAULT,
        ByteBufAllocator.DEFAULT,
    };

    @Test
    void payloadsArriveWhole() {
        long seed = Long.getLong("stadium.seed", System.nanoTime());
        Random random = new Random(seed);
        for (int round = 0; round < 400; round++) {
            String place = "-Dstadium.seed=" + seed + ", round " + round;
            Config config = Config.builder().fragmentBytes(64 + random.nextInt(300)).build();
            Pair pair = new Pair(config, config, ALLOCATORS[round % ALLOCATORS.length]);
            byte[] metadata = random.nextInt(3) == 0 ? null : bytes(random, random.nextInt(1_000));
            byte[] data = bytes(random, random.nextInt(3_000));
            Interaction interaction = Interaction.values()[random.nextInt(4)];
            Completion completion = random.nextBoolean() ? Completion.OPEN : Completion.COMPLETE;
            int id = pair.client.request(
                    interaction, 7, completion, null, wrap(metadata), data, PayloadWriter.BYTES,
                    pair.up);
            assertEquals(1, id, place);
            assertFramesAreAtMost(pair.up, config.fragmentBytes(), place);
            deliver(random, pair.server, pair.up, pair.down);
            assertEquals(List.of("request"), pair.serverEvents.take(), place);
            assertArrayEquals(metadata, pair.serverEvents.metadata, place);
            assertArrayEquals(data, pair.serverEvents.data, place);
            if (interaction != Interaction.FIRE_AND_FORGET) {
                SendResult result = pair.server.payload(
                        1, Completion.COMPLETE, wrap(metadata), data, PayloadWriter.BYTES,
                        pair.down);
                assertEquals(SendResult.SENT, result, place);
                assertFramesAreAtMost(pair.down, config.fragmentBytes(), place);
                deliver(random, pair.client, pair.down, pair.up);
                assertEquals(List.of("payload and complete"), pair.clientEvents.take(), place);
                assertArrayEquals(metadata, pair.clientEvents.metadata, place);
                assertArrayEquals(data, pair.clientEvents.data, place);
            }
            assertEquals(0, pair.server.partialBytes(), place);
            boolean isOpen = interaction == Interaction.REQUEST_CHANNEL
                    && completion == Completion.OPEN;
            assertEquals(isOpen ? 1 : 0, pair.server.streamsOpen(), place);
            assertEquals(isOpen ? 1 : 0, pair.client.streamsOpen(), place);
            pair.release();
        }
    }

    @Test
    void fragmentsOfStreamsMayBeMixed() {
        Config config = Config.builder().fragmentBytes(64).build();
        Pair pair = new Pair(config);
        pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "a".repeat(150));
        ByteBuf first = pair.up.copy();
        pair.up.clear();
        pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "b".repeat(150));
        ByteBuf second = pair.up.copy();
        pair.up.clear();
        while (first.isReadable()) {
            pair.server.receive(0, first.readSlice(3
                    + first.getUnsignedMedium(first.readerIndex())), pair.down);
            pair.server.receive(0, second.readSlice(3
                    + second.getUnsignedMedium(second.readerIndex())), pair.down);
        }
        assertEquals(List.of("request", "request"), pair.serverEvents.take());
        assertArrayEquals("b".repeat(150).getBytes(), pair.serverEvents.data);
    }

    @Test
    void allUnfinishedPayloadsTogetherAreBounded() {
        Config large = Config.builder().fragmentBytes(64).build();
        Pair pair = new Pair(large, Config.builder().payloadBytesMax(1_000).build());
        for (int nth = 0; nth < 1_000; nth++) {
            pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "x".repeat(100));
            // The last fragment does not arrive.
            int last = 100 - 58 + 9;
            pair.up.writerIndex(pair.up.writerIndex() - last);
            pair.up();
            assertTrue(pair.server.partialBytes() <= 1_000 + Partial.BYTES,
                    pair.server.partialBytes() + " bytes");
        }
        assertTrue(pair.down().stream().allMatch(event -> event.startsWith("failed 516")));
    }

    @Test
    void aPayloadThatIsLargerThanAllowedIsNotSent() {
        Pair pair = new Pair(Config.builder().payloadBytesMax(100).build());
        assertEquals(
                RequestError.TOO_LARGE,
                RequestError.of(pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN,
                "x".repeat(101))));
        assertEquals(0, pair.up.readableBytes());
        assertEquals(1, pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN,
                "x".repeat(100)));
        assertEquals(List.of("request"), pair.up());
        assertEquals(SendResult.TOO_LARGE, pair.answer(1, Completion.COMPLETE, "x".repeat(101)));
        assertEquals(SendResult.SENT, pair.answer(1, Completion.COMPLETE, "x".repeat(100)));
    }

    @Test
    void anAnswerThatIsLargerThanAllowedFails() {
        Pair pair = new Pair(Config.builder().payloadBytesMax(100).build(), Config.DEFAULT);
        pair.request(Interaction.REQUEST_RESPONSE, 1, Completion.OPEN, "x");
        pair.up();
        pair.answer(1, Completion.COMPLETE, "x".repeat(101));
        assertEquals(List.of("failed 516 answer is larger than this side takes"), pair.down());
        assertEquals(0, pair.client.streamsOpen());
    }

    private static void deliver(Random random, Connection to, ByteBuf bytes, ByteBuf out) {
        while (bytes.isReadable()) {
            ByteBuf in = bytes.readBytes(Math.min(1 + random.nextInt(200), bytes.readableBytes()));
            to.receive(0, in, out);
            in.release();
        }
        bytes.clear();
    }

    private static void assertFramesAreAtMost(ByteBuf bytes, int frameBytesMax, String place) {
        for (int at = bytes.readerIndex(); at < bytes.writerIndex(); ) {
            int length = bytes.getUnsignedMedium(at);
            assertTrue(length <= frameBytesMax, place + ": a frame of " + length + " bytes");
            at += 3 + length;
        }
    }

    private static byte[] bytes(Random random, int length) {
        byte[] bytes = new byte[length];
        random.nextBytes(bytes);
        return bytes;
    }

    private static ByteBuf wrap(byte[] bytes) {
        return bytes == null ? null : Unpooled.wrappedBuffer(bytes);
    }
}
