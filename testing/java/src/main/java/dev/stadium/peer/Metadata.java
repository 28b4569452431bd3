package dev.stadium.peer;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.CompositeByteBuf;
import io.netty.buffer.Unpooled;
import io.rsocket.Payload;
import io.rsocket.metadata.AuthMetadataCodec;
import io.rsocket.metadata.CompositeMetadata;
import io.rsocket.metadata.CompositeMetadataCodec;
import io.rsocket.metadata.RoutingMetadata;
import io.rsocket.metadata.TaggingMetadataCodec;
import io.rsocket.metadata.WellKnownAuthType;
import io.rsocket.metadata.WellKnownMimeType;
import io.rsocket.util.DefaultPayload;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.StringJoiner;

/** Composite metadata as the interoperability routes use it: a route, credentials, and a text of our own MIME type. */
final class Metadata {
    static final String NOTE_MIME = "message/x.stadium.note.v1";
    private static final ByteBufAllocator HEAP = ByteBufAllocator.DEFAULT;

    private final CompositeByteBuf bytes = HEAP.compositeBuffer();

    static Metadata route(String route) {
        return new Metadata().entry(
                WellKnownMimeType.MESSAGE_RSOCKET_ROUTING,
                TaggingMetadataCodec.createRoutingMetadata(HEAP, List.of("interop/" + route)).getContent());
    }

    static Metadata note(String text) {
        return new Metadata().named(NOTE_MIME, text);
    }

    Metadata simple(String user, String password) {
        return entry(
                WellKnownMimeType.MESSAGE_RSOCKET_AUTHENTICATION,
                AuthMetadataCodec.encodeSimpleMetadata(HEAP, user.toCharArray(), password.toCharArray()));
    }

    Metadata bearer(String token) {
        return entry(
                WellKnownMimeType.MESSAGE_RSOCKET_AUTHENTICATION,
                AuthMetadataCodec.encodeBearerMetadata(HEAP, token.toCharArray()));
    }

    Metadata named(String mime, String text) {
        ByteBuf content = Unpooled.wrappedBuffer(text.getBytes(StandardCharsets.UTF_8));
        CompositeMetadataCodec.encodeAndAddMetadata(bytes, HEAP, mime, content);
        return this;
    }

    private Metadata entry(WellKnownMimeType mime, ByteBuf content) {
        CompositeMetadataCodec.encodeAndAddMetadata(bytes, HEAP, mime, content);
        return this;
    }

    Payload with(byte[] data) {
        return DefaultPayload.create(Unpooled.wrappedBuffer(data), bytes);
    }

    Payload with(String data) {
        return with(data.getBytes(StandardCharsets.UTF_8));
    }

    /** A payload for metadata push, which has no data. */
    Payload alone() {
        return DefaultPayload.create(Unpooled.EMPTY_BUFFER, bytes);
    }

    /** The route without its prefix, or nothing where there is none. */
    static String routeOf(Payload payload) {
        for (CompositeMetadata.Entry entry : new CompositeMetadata(payload.metadata(), false)) {
            if (is(entry, WellKnownMimeType.MESSAGE_RSOCKET_ROUTING)) {
                String route = new RoutingMetadata(entry.getContent().slice()).iterator().next();
                return route.startsWith("interop/") ? route.substring("interop/".length()) : "";
            }
        }
        return "";
    }

    /** The text of the first entry of our own MIME type. */
    static String noteOf(Payload payload) {
        for (CompositeMetadata.Entry entry : new CompositeMetadata(payload.metadata(), false)) {
            if (NOTE_MIME.equals(entry.getMimeType())) {
                return text(entry.getContent());
            }
        }
        return "";
    }

    /** One line an entry, as the route `metadata` answers. */
    static String described(Payload payload) {
        StringJoiner lines = new StringJoiner("\n");
        for (CompositeMetadata.Entry entry : new CompositeMetadata(payload.metadata(), false)) {
            ByteBuf content = entry.getContent().slice();
            if (is(entry, WellKnownMimeType.MESSAGE_RSOCKET_ROUTING)) {
                lines.add("route " + new RoutingMetadata(content).iterator().next());
            } else if (is(entry, WellKnownMimeType.MESSAGE_RSOCKET_AUTHENTICATION)) {
                WellKnownAuthType type = AuthMetadataCodec.readWellKnownAuthType(content);
                if (type == WellKnownAuthType.SIMPLE) {
                    String user = text(AuthMetadataCodec.readUsername(content));
                    lines.add("simple " + user + ":" + text(AuthMetadataCodec.readPassword(content)));
                } else {
                    lines.add("bearer " + new String(AuthMetadataCodec.readBearerTokenAsCharArray(content)));
                }
            } else {
                lines.add(entry.getMimeType() + " " + text(content));
            }
        }
        return lines.toString();
    }

    private static boolean is(CompositeMetadata.Entry entry, WellKnownMimeType mime) {
        return mime.getString().equals(entry.getMimeType());
    }

    private static String text(ByteBuf bytes) {
        return bytes.toString(StandardCharsets.UTF_8);
    }
}
