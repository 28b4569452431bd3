package io.stadium.rsocket.frame;

import static io.stadium.rsocket.Vectors.bytes;
import static io.stadium.rsocket.Vectors.hex;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.Vectors;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** proto/vectors/frames.json, both directions. */
class FrameVectorsTest {
    private final Frame frame = new Frame();

    @Test
    void framesEncodeToTheVectors() {
        Set<String> types = new HashSet<>();
        for (JsonNode vector : Vectors.read("frames.json", "frames")) {
            types.add(vector.path("frame").path("type").asText());
            ByteBuf out = Unpooled.buffer();
            encode(vector.path("frame"), out);
            String expected = vector.path("hex").asText();
            assertEquals(expected.length() / 2, out.getUnsignedMedium(0),
                    vector.path("name").asText());
            assertEquals(expected, hex(out).substring(6), vector.path("name").asText());
        }
        assertEquals(15, types.size(), "every type of frame");
    }

    @Test
    void vectorsDecodeToTheirFields() {
        for (JsonNode vector : Vectors.read("frames.json", "frames")) {
            String name = vector.path("name").asText();
            ByteBuf bytes = bytes(vector.path("hex"));
            // The frame is not at the beginning of its buffer.
            ByteBuf buffer = Unpooled.buffer().writeZero(7).writeBytes(bytes).writeZero(3);
            int length = vector.path("hex").asText().length() / 2;
            assertEquals(DecodeStatus.DECODED, frame.decode(buffer, 7, length), name);
            check(vector.path("frame"), name);
            assertEquals(0, buffer.readerIndex(), name);
        }
    }

    @Test
    void framesThatEndTooSoonAreRefused() {
        for (JsonNode vector : Vectors.read("frames.json", "frames")) {
            ByteBuf bytes = bytes(vector.path("hex"));
            for (int length = 0; length < bytes.readableBytes(); length++) {
                // Every prefix is a frame or is refused, and nothing beyond it is read.
                frame.decode(bytes.copy(0, length), 0, length);
            }
        }
    }

    private void check(JsonNode f, String name) {
        ByteBuf buffer = frame.buffer();
        assertEquals(f.path("stream").asInt(), frame.streamId(), name);
        String metadata = f.path("metadata").isTextual() ? f.path("metadata").asText() : null;
        String type = f.path("type").asText();
        if (f.has("metadata")) {
            assertEquals(metadata, hex(buffer, frame.metadataIndex(), frame.metadataLength()),
                    name);
        }
        if (f.has("data")) {
            assertEquals(f.path("data").asText(), hex(buffer, frame.dataIndex(),
                    frame.dataLength()), name);
        }
        if (f.has("follows")) {
            assertEquals(f.path("follows").asBoolean(), frame.follows(), name);
        }
        if (f.has("complete")) {
            assertEquals(f.path("complete").asBoolean(), frame.has(FrameFlag.COMPLETE), name);
        }
        switch (type) {
            case "SETUP" -> {
                assertEquals(FrameType.SETUP, frame.type(), name);
                assertEquals(f.path("major").asInt(), frame.majorVersion(), name);
                assertEquals(f.path("minor").asInt(), frame.minorVersion(), name);
                assertEquals(f.path("keepalive_ms").asInt(), frame.keepaliveIntervalMs(), name);
                assertEquals(f.path("lifetime_ms").asInt(), frame.lifetimeMs(), name);
                assertEquals(f.path("lease").asBoolean(), frame.has(FrameFlag.LEASE), name);
                String token = f.path("resume_token").isNull() ? null
                        : f.path("resume_token").asText();
                assertEquals(token, hex(buffer, frame.tokenIndex(), frame.tokenLength()), name);
                assertEquals(f.path("metadata_mime").asText(), text(frame.metadataMimeTypeIndex()),
                        name);
                assertEquals(f.path("data_mime").asText(), text(frame.dataMimeTypeIndex()), name);
            }
            case "LEASE" -> {
                assertEquals(f.path("ttl_ms").asInt(), frame.ttlMs(), name);
                assertEquals(f.path("requests").asInt(), frame.numberOfRequests(), name);
            }
            case "KEEPALIVE" -> {
                assertEquals(f.path("respond").asBoolean(), frame.has(FrameFlag.RESPOND), name);
                assertEquals(f.path("position").asLong(), frame.lastReceivedPosition(), name);
            }
            case "REQUEST_RESPONSE" -> assertEquals(FrameType.REQUEST_RESPONSE, frame.type(), name);
            case "REQUEST_FNF" -> assertEquals(FrameType.REQUEST_FNF, frame.type(), name);
            case "REQUEST_STREAM", "REQUEST_CHANNEL" ->
                assertEquals(f.path("initial_n").asInt(), frame.requestN(), name);
            case "REQUEST_N" -> assertEquals(f.path("n").asInt(), frame.requestN(), name);
            case "CANCEL" -> assertEquals(FrameType.CANCEL, frame.type(), name);
            case "PAYLOAD" -> assertEquals(f.path("next").asBoolean(), frame.has(FrameFlag.NEXT),
                    name);
            case "ERROR" -> {
                assertEquals(f.path("code").asInt(), frame.errorCode(), name);
                assertEquals(
                        f.path("text").asText(),
                        buffer.toString(frame.dataIndex(), frame.dataLength(),
                        StandardCharsets.UTF_8),
                        name);
            }
            case "METADATA_PUSH" -> assertEquals(FrameType.METADATA_PUSH, frame.type(), name);
            case "RESUME" -> {
                assertEquals(f.path("major").asInt(), frame.majorVersion(), name);
                assertEquals(f.path("minor").asInt(), frame.minorVersion(), name);
                assertEquals(
                        f.path("token").asText(), hex(buffer, frame.tokenIndex(),
                        frame.tokenLength()), name);
                assertEquals(
                        f.path("last_received_server_position").asLong(),
                        frame.lastReceivedPosition(), name);
                assertEquals(
                        f.path("first_available_client_position").asLong(),
                        frame.firstAvailablePosition(),
                        name);
            }
            case "RESUME_OK" -> assertEquals(
                    f.path("last_received_client_position").asLong(), frame.lastReceivedPosition(),
                    name);
            case "EXT" -> {
                assertEquals(f.path("flags").asInt(), frame.flags(), name);
                assertEquals(f.path("extended_type").asInt(), frame.extendedType(), name);
                assertEquals(
                        f.path("body").asText(), hex(buffer, frame.dataIndex(),
                        frame.dataLength()), name);
            }
            default -> throw new AssertionError(type);
        }
    }

    private String text(int index) {
        ByteBuf buffer = frame.buffer();
        return buffer.toString(index + 1, buffer.getUnsignedByte(index), StandardCharsets.US_ASCII);
    }

    private static void encode(JsonNode f, ByteBuf out) {
        int stream = f.path("stream").asInt();
        ByteBuf metadata = bytes(f.path("metadata"));
        ByteBuf data = bytes(f.path("data"));
        int flags = (f.path("follows").asBoolean() ? FrameFlag.FOLLOWS : 0)
                | (f.path("complete").asBoolean() ? FrameFlag.COMPLETE : 0)
                | (f.path("next").asBoolean() ? FrameFlag.NEXT : 0);
        int initial = f.path("initial_n").asInt();
        switch (f.path("type").asText()) {
            case "SETUP" -> FrameEncoder.setup(out, new SetupFields(
                    f.path("major").asInt(), f.path("minor").asInt(),
                    f.path("keepalive_ms").asInt(),
                    f.path("lifetime_ms").asInt(), f.path("lease").asBoolean(),
                    bytes(f.path("resume_token")),
                    f.path("metadata_mime").asText(), f.path("data_mime").asText(), metadata,
                    data));
            case "LEASE" ->
                FrameEncoder.lease(out, f.path("ttl_ms").asInt(), f.path("requests").asInt(),
                        metadata);
            case "KEEPALIVE" -> FrameEncoder.keepalive(
                    out, f.path("respond").asBoolean() ? FrameFlag.RESPOND : 0,
                    f.path("position").asLong(), data);
            case "REQUEST_RESPONSE" ->
                FrameEncoder.request(out, stream, Interaction.REQUEST_RESPONSE, flags, 0, metadata,
                        data);
            case "REQUEST_FNF" ->
                FrameEncoder.request(out, stream, Interaction.FIRE_AND_FORGET, flags, 0, metadata,
                        data);
            case "REQUEST_STREAM" ->
                FrameEncoder.request(out, stream, Interaction.REQUEST_STREAM, flags, initial,
                        metadata, data);
            case "REQUEST_CHANNEL" ->
                FrameEncoder.request(out, stream, Interaction.REQUEST_CHANNEL, flags, initial,
                        metadata, data);
            case "REQUEST_N" -> FrameEncoder.requestN(out, stream, f.path("n").asInt());
            case "CANCEL" -> FrameEncoder.cancel(out, stream);
            case "PAYLOAD" -> FrameEncoder.payload(out, stream, flags, metadata, data);
            case "ERROR" -> FrameEncoder.error(
                    out, stream, f.path("code").asInt(),
                    Unpooled.copiedBuffer(f.path("text").asText(), StandardCharsets.UTF_8));
            case "METADATA_PUSH" -> FrameEncoder.metadataPush(out, metadata);
            case "RESUME" -> FrameEncoder.resume(
                    out, f.path("major").asInt(), f.path("minor").asInt(), bytes(f.path("token")),
                    f.path("last_received_server_position").asLong(),
                    f.path("first_available_client_position").asLong());
            case "RESUME_OK" -> FrameEncoder.resumeOk(out,
                    f.path("last_received_client_position").asLong());
            case "EXT" -> FrameEncoder.extension(
                    out, stream, f.path("flags").asInt(), f.path("extended_type").asInt(),
                    bytes(f.path("body")));
            default -> throw new AssertionError(f);
        }
    }
}
