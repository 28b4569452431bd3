package io.stadium.rsocket.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.stadium.rsocket.Vectors;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Interaction;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Frames that were changed at random never make the core throw, leak or grow. */
class FuzzTest {
    private static final int FRAMES = 20_000;

    @Test
    void mutatedFramesDoNoHarm() {
        long seed = Long.getLong("stadium.seed", System.nanoTime());
        Random random = new Random(seed);
        List<byte[]> seeds = new ArrayList<>();
        for (JsonNode vector : Vectors.read("frames.json", "frames")) {
            seeds.add(ByteBufUtil.decodeHexDump(vector.path("hex").asText()));
        }
        UnpooledByteBufAllocator allocator = new UnpooledByteBufAllocator(false);
        Config config = Config.builder()
                .payloadBytesMax(2_000).streamsMax(20).fragmentBytes(100).lease(
                        LeaseMode.GRANT).build();
        int events = 0;
        Pair pair = null;
        int frames = 0;
        try {
            for (; frames < FRAMES; frames++) {
                if (pair == null) {
                    pair = new Pair(config, config, allocator);
                }
                boolean toServer = random.nextBoolean();
                Connection subject = toServer ? pair.server : pair.client;
                Recorder recorder = toServer ? pair.serverEvents : pair.clientEvents;
                ByteBuf out = toServer ? pair.down : pair.up;
                ByteBuf in = Unpooled.wrappedBuffer(mutated(random, seeds));
                while (in.isReadable()) {
                    subject.receive(frames, in.readSlice(Math.min(1 + random.nextInt(40),
                            in.readableBytes())), out);
                }
                act(random, subject, recorder, out);
                events += recorder.take().size();
                out.clear();
                assertTrue(subject.partialBytes() <= 2_000 + Partial.BYTES);
                assertTrue(subject.streamsOpen() <= 40);
                if (subject.isClosed() || random.nextInt(200) == 0) {
                    pair.release();
                    pair = null;
                }
            }
        } catch (RuntimeException | AssertionError e) {
            throw new AssertionError("-Dstadium.seed=" + seed + ", frame " + frames, e);
        }
        if (pair != null) {
            pair.release();
        }
        assertTrue(events > FRAMES / 10, "only " + events + " events: this tests nothing");
        assertEquals(0, allocator.metric().usedDirectMemory(), "-Dstadium.seed=" + seed
                + ": memory leaks");
        assertEquals(0, allocator.metric().usedHeapMemory(), "-Dstadium.seed=" + seed
                + ": memory leaks");
    }

    /** A driver that does anything. */
    private static void act(Random random, Connection connection, Recorder recorder, ByteBuf out) {
        int stream = random.nextBoolean() ? recorder.streamId : random.nextInt(10);
        Completion completion = random.nextInt(4) == 0 ? Completion.COMPLETE : Completion.OPEN;
        ByteBuf data = Unpooled.wrappedBuffer(new byte[random.nextInt(250)]);
        switch (random.nextInt(12)) {
            case 0, 1, 2 -> connection.request(
                    Interaction.values()[random.nextInt(4)], random.nextInt(5), completion, null,
                    random.nextBoolean() ? data : null, data, PayloadWriter.BUFFER, out);
            case 3, 4 -> connection.payload(stream, completion, null, data, PayloadWriter.BUFFER,
                    out);
            case 5 -> connection.complete(stream, out);
            case 6 -> connection.error(stream, ErrorCode.REJECTED, "ü".repeat(random.nextInt(200)),
                    out);
            case 7 -> connection.cancel(stream, out);
            case 8 -> connection.requestN(stream, random.nextInt(), out);
            case 9 -> connection.grantLease(random.nextInt(), random.nextInt(), out);
            case 10 -> connection.advance(random.nextInt(30_000), out);
            default -> connection.metadataPush(data, out);
        }
        connection.deadlineMs();
    }

    /** A frame with its length, changed. */
    private static byte[] mutated(Random random, List<byte[]> seeds) {
        byte[] frame = seeds.get(random.nextInt(seeds.size())).clone();
        int length = frame.length;
        if (random.nextInt(4) == 0) {
            length = 6 + random.nextInt(length - 5);
        }
        // Small stream ids meet each other.
        if (random.nextBoolean() && (frame[4] & 0xFF) >>> 2 != 3) {
            frame[3] = (byte) random.nextInt(10);
            frame[0] = frame[1] = frame[2] = 0;
        }
        for (int changes = random.nextInt(4); changes > 0; changes--) {
            frame[4
                    + random.nextInt(frame.length - 4)] =
                            (byte) (random.nextInt() >>> random.nextInt(32));
        }
        int written = random.nextInt(300) == 0 ? random.nextInt(1 << 24) : length;
        ByteBuf bytes = Unpooled.buffer().writeMedium(written).writeBytes(frame, 0, length);
        return ByteBufUtil.getBytes(bytes);
    }
}
