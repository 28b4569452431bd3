package io.stadium.rsocket.connection;

import static io.stadium.rsocket.Vectors.bytes;
import static io.stadium.rsocket.Vectors.hex;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.stadium.rsocket.Vectors;
import io.stadium.rsocket.frame.DecodeStatus;
import io.stadium.rsocket.frame.Frame;
import io.stadium.rsocket.frame.FrameType;
import io.stadium.rsocket.frame.Interaction;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** proto/vectors/hostile.json and sessions.json. */
class ConnectionVectorsTest {
    /** Sessions that need resumption, which this module does not have yet. */
    private static final Set<String> NOT_COVERED = Set.of("a client resumes",
            "a server is resumed");

    private static final int[] CHUNKS = {1, 2, 3, 7, 1 << 20};

    @Test
    void hostileBytesEndAsTheVectorsSay() {
        for (JsonNode vector : Vectors.read("hostile.json", "hostile")) {
            for (int chunk : CHUNKS) {
                String name = vector.path("name").asText() + ", " + chunk + " bytes at a time";
                Subject subject = new Subject(vector, chunk);
                if (vector.path("after_setup").asBoolean()) {
                    subject.setUp(vector);
                }
                JsonNode open = vector.path("open");
                if (open.isObject()) {
                    int id = subject.connection.request(
                            interaction(open), open.path("initial_n").asInt(), Completion.OPEN,
                            null, null,
                            null, PayloadWriter.BUFFER, subject.out);
                    assertEquals(1, id, name);
                    subject.out.clear();
                }
                List<String> events = subject.hear(bytes(vector.path("hex")));
                JsonNode expect = vector.path("expect");
                if (expect.has("closes")) {
                    subject.assertLastError(0, expect.path("closes").asInt(), name);
                    assertEquals("closed", events.get(events.size() - 1), name);
                    assertTrue(subject.connection.isClosed(), name);
                    subject.out.clear();
                    ByteBuf more = Unpooled.wrappedBuffer(new byte[] {0, 0, 6, 0, 0, 0, 9, 0x10,
                            0});
                    assertEquals(List.of(), subject.hear(more), name);
                    assertEquals("", hex(subject.out), name + ": nothing is sent after the end");
                } else if (expect.has("error")) {
                    JsonNode error = expect.path("error");
                    subject.assertLastError(error.path("stream").asInt(),
                            error.path("code").asInt(), name);
                    assertFalse(subject.connection.isClosed(), name);
                } else {
                    assertTrue(expect.path("ignored").asBoolean(), name);
                    assertEquals("", hex(subject.out), name);
                    assertFalse(subject.connection.isClosed(), name);
                }
            }
        }
    }

    @Test
    void sessionsGoAsTheVectorsSay() {
        Set<String> missing = new HashSet<>(NOT_COVERED);
        for (JsonNode vector : Vectors.read("sessions.json", "sessions")) {
            String name = vector.path("name").asText();
            if (missing.remove(name)) {
                assertNotNull(failure(vector), name + " passes: take it out of NOT_COVERED");
            } else {
                for (int chunk : CHUNKS) {
                    run(vector, chunk);
                }
            }
        }
        assertEquals(Set.of(), missing, "NOT_COVERED names sessions that do not exist");
    }

    private static Throwable failure(JsonNode vector) {
        try {
            run(vector, 1);
            return null;
        } catch (AssertionError | RuntimeException e) {
            return e;
        }
    }

    private static void run(JsonNode vector, int chunk) {
        Subject subject = new Subject(vector, chunk);
        int nth = 0;
        for (JsonNode step : vector.path("steps")) {
            String place = vector.path("name").asText() + ", step " + nth++ + ": " + step;
            if (step.has("do")) {
                assertEquals(step.path("refused").asText(""), subject.act(step), place);
            } else if (step.has("hear")) {
                List<String> events = subject.hear(bytes(step.path("hear")));
                assertEquals(step.has("event") ? List.of(step.path("event").asText()) : List.of(),
                        events, place);
                if (step.has("data")) {
                    assertEquals(step.path("data").asText(),
                            hex(Unpooled.wrappedBuffer(subject.recorder.data)));
                    assertEquals(
                            step.path("metadata").asText(),
                            hex(Unpooled.wrappedBuffer(subject.recorder.metadata)));
                }
            } else if (step.has("say")) {
                assertEquals(step.path("say").asText(), hex(subject.out), place);
                subject.out.clear();
            } else {
                subject.nowMs += step.path("wait_ms").asLong();
                subject.connection.advance(subject.nowMs, subject.out);
                List<String> expected = step.has("event") ? List.of(step.path("event").asText())
                        : List.of();
                assertEquals(expected, subject.recorder.take(), place);
            }
        }
        assertEquals("", hex(subject.out), vector.path("name").asText());
    }

    private static Interaction interaction(JsonNode node) {
        return switch (node.path("interaction").asText()) {
            case "REQUEST_RESPONSE" -> Interaction.REQUEST_RESPONSE;
            case "REQUEST_FNF" -> Interaction.FIRE_AND_FORGET;
            case "REQUEST_STREAM" -> Interaction.REQUEST_STREAM;
            case "REQUEST_CHANNEL" -> Interaction.REQUEST_CHANNEL;
            default -> throw new AssertionError(node);
        };
    }

    /** A connection that follows a vector. */
    private static final class Subject {
        final Recorder recorder = new Recorder();
        final ByteBuf out = Unpooled.buffer();
        final Connection connection;
        final int chunk;
        long nowMs;

        Subject(JsonNode vector, int chunk) {
            this.chunk = chunk;
            Config config = config(vector.path("config"));
            boolean isClient = vector.path("side").asText().equals("client");
            connection = isClient
                    ? Connection.client(
                            config, SetupOptions.DEFAULT, UnpooledByteBufAllocator.DEFAULT,
                            recorder, 0, out)
                    : Connection.server(config, UnpooledByteBufAllocator.DEFAULT, recorder, 0);
        }

        private static Config config(JsonNode settings) {
            Config.Builder builder = Config.builder();
            for (Map.Entry<String, JsonNode> setting : settings.properties()) {
                JsonNode value = setting.getValue();
                switch (setting.getKey()) {
                    case "frame_bytes_max" -> builder.frameBytesMax(value.asInt());
                    case "payload_bytes_max" -> builder.payloadBytesMax(value.asInt());
                    case "fragment_bytes" -> builder.fragmentBytes(value.asInt());
                    case "streams_max" -> builder.streamsMax(value.asInt());
                    case "lease" -> builder.lease(LeaseMode.valueOf(value.asText().toUpperCase()));
                    case "resume" -> {}
                    default -> throw new AssertionError(setting);
                }
            }
            return builder.build();
        }

        void setUp(JsonNode vector) {
            if (vector.path("side").asText().equals("server")) {
                ByteBuf hello = Unpooled.buffer();
                Connection.client(
                        Config.DEFAULT, SetupOptions.DEFAULT, UnpooledByteBufAllocator.DEFAULT,
                        new Recorder(), 0,
                        hello);
                assertEquals(List.of("setup"), hear(hello));
                connection.accept();
            }
            out.clear();
        }

        /** Takes bytes in pieces, and names the events as the vectors do. */
        List<String> hear(ByteBuf bytes) {
            while (bytes.isReadable()) {
                ByteBuf in = bytes.readBytes(Math.min(chunk, bytes.readableBytes()));
                connection.receive(nowMs, in, out);
                assertEquals(0, in.readableBytes());
                in.release();
            }
            return recorder.take().stream()
                    .map(event -> event.startsWith("payload") || event.equals("complete")
                            ? "payload" : event)
                    .toList();
        }

        void assertLastError(int streamId, int code, String name) {
            Frame frame = new Frame();
            int at = 0;
            while (at < out.writerIndex()) {
                int length = out.getUnsignedMedium(at);
                assertEquals(DecodeStatus.DECODED, frame.decode(out, at + 3, length), name);
                at += 3 + length;
            }
            assertTrue(at > 0, name + ": nothing was sent");
            assertEquals(FrameType.ERROR, frame.type(), name);
            assertEquals(streamId, frame.streamId(), name);
            assertEquals(code, frame.errorCode(), name);
            assertTrue(frame.dataLength() > 0, name + ": an ERROR says why");
        }

        /** Does what a driver asks for, and returns why it was refused, or an empty text. */
        String act(JsonNode step) {
            int before = out.writerIndex();
            int stream = step.path("stream").asInt();
            ByteBuf metadata = bytes(step.path("metadata"));
            ByteBuf data = bytes(step.path("data"));
            Completion completion = step.path("complete").asBoolean() ? Completion.COMPLETE
                    : Completion.OPEN;
            SendResult result = SendResult.SENT;
            switch (step.path("do").asText()) {
                case "accept" -> connection.accept();
                case "request" -> {
                    int id = connection.request(
                            interaction(step), step.path("initial_n").asInt(), completion, null,
                            metadata, data,
                            PayloadWriter.BUFFER, out);
                    if (id < 0) {
                        assertEquals(before, out.writerIndex());
                        assertEquals(RequestError.NO_LEASE, RequestError.of(id));
                        return "no lease";
                    }
                }
                case "payload" ->
                    result = connection.payload(stream, completion, metadata, data,
                            PayloadWriter.BUFFER, out);
                case "complete" -> result = connection.complete(stream, out);
                case "cancel" -> result = connection.cancel(stream, out);
                case "error" -> result =
                        connection.error(stream, step.path("code").asInt(),
                                step.path("text").asText(), out);
                case "lease" ->
                    connection.grantLease(step.path("ttl_ms").asInt(),
                            step.path("requests").asInt(), out);
                default -> throw new AssertionError("not supported: " + step);
            }
            if (result != SendResult.SENT) {
                assertEquals(before, out.writerIndex(), "what is refused writes nothing");
            }
            return switch (result) {
                case SENT -> "";
                case NO_CREDIT -> "no credit";
                case UNKNOWN_STREAM -> "unknown stream";
                case TOO_LARGE -> "too large";
            };
        }
    }
}
