package io.stadium.rsocket;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** The vectors of proto/vectors, which every SDK reads. */
public final class Vectors {
    private Vectors() {}

    /** One file's entries. */
    public static JsonNode read(String file, String list) {
        Path folder = Path.of(System.getProperty("stadium.vectors", "../../../proto/vectors"));
        try {
            JsonNode entries =
                    new ObjectMapper().readTree(folder.resolve(file).toFile()).path(list);
            if (!entries.isArray() || entries.isEmpty()) {
                throw new IllegalStateException(file + " has no " + list);
            }
            return entries;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The bytes of a node, or {@code null} where it is absent or null. */
    public static ByteBuf bytes(JsonNode node) {
        return node.isTextual()
                ? Unpooled.wrappedBuffer(ByteBufUtil.decodeHexDump(node.asText())) : null;
    }

    /** The readable bytes in hexadecimal. */
    public static String hex(ByteBuf buffer) {
        return ByteBufUtil.hexDump(buffer);
    }

    /** A part of a buffer in hexadecimal, {@code null} for a negative length. */
    public static String hex(ByteBuf buffer, int index, int length) {
        return length < 0 ? null : ByteBufUtil.hexDump(buffer, index, length);
    }
}
