package io.stadium.rsocket.metadata;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.util.ArrayList;
import java.util.List;

/**
 * Routing: a list of tags of at most 255 bytes each (Routing Metadata Extension). A request of
 * Stadium's RPC has one tag, {@code SERVICE/METHOD}.
 */
public final class Routing {
    /** Bytes of a tag that its 8-bit length can express. */
    public static final int TAG_BYTES_MAX = 255;

    private Routing() {}

    /**
     * Reads the content of a routing entry.
     *
     * @param buffer the buffer that holds it
     * @param index where the content begins
     * @param length its bytes
     * @return the tags in order
     * @throws MalformedMetadataException if a tag ends beyond the content or is not UTF-8
     */
    public static List<String> read(ByteBuf buffer, int index, int length)
            throws MalformedMetadataException {
        List<String> tags = new ArrayList<>(1);
        int end = index + length;
        for (int at = index; at < end; ) {
            int bytes = buffer.getUnsignedByte(at);
            at += 1;
            if (bytes > end - at) {
                throw new MalformedMetadataException("a tag ends beyond its entry");
            }
            tags.add(Text.read(buffer, at, bytes));
            at += bytes;
        }
        return tags;
    }

    /**
     * Appends a routing entry.
     *
     * @param out the buffer to append to
     * @param tags the tags, each at most 255 bytes of UTF-8
     * @throws IllegalArgumentException if a tag is longer
     */
    public static void write(ByteBuf out, String... tags) {
        int start = CompositeMetadata.begin(out, WellKnownMimeType.ROUTING);
        for (String tag : tags) {
            int bytes = ByteBufUtil.utf8Bytes(tag);
            if (bytes > TAG_BYTES_MAX) {
                throw new IllegalArgumentException("a tag has at most 255 bytes, not " + bytes);
            }
            out.writeByte(bytes);
            ByteBufUtil.writeUtf8(out, tag);
        }
        CompositeMetadata.end(out, start);
    }
}
