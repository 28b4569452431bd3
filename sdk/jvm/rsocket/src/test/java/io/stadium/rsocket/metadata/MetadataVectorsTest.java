package io.stadium.rsocket.metadata;

import static io.stadium.rsocket.Vectors.bytes;
import static io.stadium.rsocket.Vectors.hex;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.Vectors;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** proto/vectors/composite-metadata.json, both directions. */
class MetadataVectorsTest {
    private static final String FILE = "composite-metadata.json";

    @Test
    void compositeMetadataIsAsTheVectorsSay() {
        CompositeMetadata cursor = new CompositeMetadata();
        for (JsonNode vector : Vectors.read(FILE, "composite")) {
            String name = vector.path("name").asText();
            ByteBuf bytes = bytes(vector.path("hex"));
            ByteBuf written = Unpooled.buffer();
            cursor.reset(bytes, 0, bytes.readableBytes());
            for (JsonNode expected : vector.path("entries")) {
                assertTrue(cursor.next(), name);
                JsonNode mime = expected.path("mime");
                ByteBuf content = bytes(expected.path("content"));
                assertEquals(hex(content), hex(bytes, cursor.contentIndex(),
                        cursor.contentLength()), name);
                if (mime.isNumber()) {
                    assertEquals(mime.asInt(), cursor.mimeTypeId(), name);
                    CompositeMetadata.write(written, mime.asInt(), content);
                } else {
                    assertEquals(mime.asText(), cursor.mimeType(), name);
                    CompositeMetadata.write(written, mime.asText(), content);
                }
            }
            assertFalse(cursor.next(), name);
            assertEquals(vector.path("malformed").asBoolean(), cursor.isMalformed(), name);
            if (!cursor.isMalformed()) {
                assertEquals(hex(bytes), hex(written), name);
            }
        }
    }

    @Test
    void routingIsAsTheVectorsSay() throws MalformedMetadataException {
        for (JsonNode vector : Vectors.read(FILE, "routing")) {
            ByteBuf bytes = bytes(vector.path("hex"));
            if (vector.path("tags").isNull()) {
                assertThrows(
                        MalformedMetadataException.class, () -> Routing.read(bytes, 0,
                        bytes.readableBytes()));
            } else {
                List<String> tags = texts(vector.path("tags"));
                assertEquals(tags, Routing.read(bytes, 0, bytes.readableBytes()));
                ByteBuf out = Unpooled.buffer();
                Routing.write(out, tags.toArray(String[]::new));
                assertContent(bytes, out, WellKnownMimeType.ROUTING);
            }
        }
    }

    @Test
    void authenticationIsAsTheVectorsSay() throws MalformedMetadataException {
        for (JsonNode vector : Vectors.read(FILE, "authentication")) {
            ByteBuf bytes = bytes(vector.path("hex"));
            Authentication expected = switch (vector.path("kind").asText("")) {
                case "simple" -> new Authentication.Simple(
                        vector.path("username").asText(), vector.path("password").asText());
                case "bearer" -> new Authentication.Bearer(vector.path("token").asText());
                default -> null;
            };
            if (expected == null) {
                assertThrows(
                        MalformedMetadataException.class,
                        () -> Authentication.read(bytes, 0, bytes.readableBytes()));
            } else {
                assertEquals(expected, Authentication.read(bytes, 0, bytes.readableBytes()));
                ByteBuf out = Unpooled.buffer();
                Authentication.write(out, expected);
                assertContent(bytes, out, WellKnownMimeType.AUTHENTICATION);
            }
        }
    }

    @Test
    void tracingIsAsTheVectorsSay() throws MalformedMetadataException {
        for (JsonNode vector : Vectors.read(FILE, "tracing")) {
            String name = vector.path("name").asText();
            ByteBuf bytes = bytes(vector.path("hex"));
            Tracing tracing = Tracing.read(bytes, 0, bytes.readableBytes());
            assertEquals(vector.path("sampling").asText(), tracing.sampling().name().toLowerCase(),
                    name);
            Tracing.Ids ids = tracing.ids();
            String trace = ids == null
                    ? null
                    : (ids.traceHigh() == null ? "" : String.format("%016x", ids.traceHigh()))
                            + String.format("%016x", ids.traceLow());
            assertEquals(vector.path("trace").textValue(), trace, name);
            String span = ids == null ? null : String.format("%016x", ids.span());
            assertEquals(vector.path("span").textValue(), span, name);
            String parent = ids == null || ids.parent() == null ? null : String.format("%016x",
                    ids.parent());
            assertEquals(vector.path("parent").textValue(), parent, name);
            ByteBuf out = Unpooled.buffer();
            tracing.write(out);
            assertContent(bytes, out, WellKnownMimeType.TRACING);
            for (int length = 0; ids != null && length < bytes.readableBytes(); length++) {
                int cut = length;
                assertThrows(MalformedMetadataException.class, () -> Tracing.read(bytes, 0, cut),
                        name);
            }
        }
    }

    @Test
    void mimeTypesAreAsTheVectorsSay() throws MalformedMetadataException {
        for (JsonNode vector : Vectors.read(FILE, "mime_types")) {
            ByteBuf bytes = bytes(vector.path("hex"));
            if (vector.path("mimes").isNull()) {
                assertThrows(
                        MalformedMetadataException.class, () -> MimeTypes.read(bytes, 0,
                        bytes.readableBytes()));
            } else {
                List<String> mimeTypes = texts(vector.path("mimes"));
                assertEquals(mimeTypes, MimeTypes.read(bytes, 0, bytes.readableBytes()));
                ByteBuf out = Unpooled.buffer();
                MimeTypes.writeAccepted(out, mimeTypes);
                assertContent(bytes, out, WellKnownMimeType.ACCEPT_MIME_TYPES);
            }
        }
    }

    @Test
    void anEntryIsFoundByItsName() {
        ByteBuf out = Unpooled.buffer();
        MimeTypes.write(out, "application/json");
        CompositeMetadata.write(out, "message/x.stadium.key.v1",
                Unpooled.wrappedBuffer(new byte[] {1, 2}));
        CompositeMetadata cursor = new CompositeMetadata().reset(out, 0, out.readableBytes());
        assertTrue(cursor.find(WellKnownMimeType.MIME_TYPE));
        assertTrue(cursor.next());
        assertTrue(cursor.isNamed("message/x.stadium.key.v1".getBytes(StandardCharsets.US_ASCII)));
        assertFalse(cursor.isNamed("message/x.stadium.key.v2".getBytes(StandardCharsets.US_ASCII)));
        assertFalse(cursor.find(WellKnownMimeType.ROUTING));
    }

    /** An entry's content is as the vector says. */
    private static void assertContent(ByteBuf expected, ByteBuf entry, int mimeTypeId) {
        CompositeMetadata cursor = new CompositeMetadata().reset(entry, 0, entry.readableBytes());
        assertTrue(cursor.find(mimeTypeId));
        assertEquals(hex(expected), hex(entry, cursor.contentIndex(), cursor.contentLength()));
    }

    private static List<String> texts(JsonNode list) {
        List<String> texts = new ArrayList<>();
        list.forEach(text -> texts.add(text.asText()));
        return texts;
    }
}
