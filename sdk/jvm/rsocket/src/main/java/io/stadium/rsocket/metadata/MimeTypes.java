package io.stadium.rsocket.metadata;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * The MIME type of one stream's data, and those that its requester accepts (Per Stream Data MIME
 * Types Metadata Extension). They replace the data MIME type of SETUP on that stream.
 */
public final class MimeTypes {
    private MimeTypes() {}

    /**
     * Reads the content of an entry of either kind.
     *
     * @param buffer the buffer that holds it
     * @param index where the content begins
     * @param length its bytes
     * @return the MIME types in the sender's order of preference
     * @throws MalformedMetadataException if one ends beyond the content or has an id without a name
     */
    public static List<String> read(ByteBuf buffer, int index, int length)
            throws MalformedMetadataException {
        List<String> mimeTypes = new ArrayList<>();
        int end = index + length;
        for (int at = index; at < end; ) {
            int first = buffer.getUnsignedByte(at);
            int bytes = first >= 0x80 ? 0 : first + 1;
            at += 1;
            if (bytes > end - at) {
                throw new MalformedMetadataException("a MIME type ends beyond its entry");
            }
            String mimeType = first >= 0x80
                    ? WellKnownMimeType.name(first & 0x7F)
                    : buffer.toString(at, bytes, StandardCharsets.UTF_8);
            if (mimeType == null) {
                throw new MalformedMetadataException("MIME type " + (first & 0x7F)
                        + " has no name");
            }
            mimeTypes.add(mimeType);
            at += bytes;
        }
        return mimeTypes;
    }

    /**
     * Appends an entry with the MIME type of the stream's data.
     *
     * @param out the buffer to append to
     * @param mimeType 1 to 128 characters of US-ASCII
     */
    public static void write(ByteBuf out, String mimeType) {
        int start = CompositeMetadata.begin(out, WellKnownMimeType.MIME_TYPE);
        append(out, mimeType);
        CompositeMetadata.end(out, start);
    }

    /**
     * Appends an entry with the MIME types that the requester accepts.
     *
     * @param out the buffer to append to
     * @param mimeTypes in order of preference, each 1 to 128 characters of US-ASCII
     */
    public static void writeAccepted(ByteBuf out, List<String> mimeTypes) {
        int start = CompositeMetadata.begin(out, WellKnownMimeType.ACCEPT_MIME_TYPES);
        mimeTypes.forEach(mimeType -> append(out, mimeType));
        CompositeMetadata.end(out, start);
    }

    /** Appends a MIME type as its id, or as a name with its length. */
    static void append(ByteBuf out, String mimeType) {
        int id = WellKnownMimeType.id(mimeType);
        if (id >= 0) {
            out.writeByte(0x80 | id);
        } else {
            appendName(out, mimeType);
        }
    }

    /** Appends a name with its 7-bit length. */
    static void appendName(ByteBuf out, String mimeType) {
        int length = mimeType.length();
        if (length == 0 || length > CompositeMetadata.MIME_TYPE_BYTES_MAX) {
            throw new IllegalArgumentException("a MIME type has 1 to 128 characters, not "
                    + length);
        }
        out.writeByte(length - 1);
        out.writeCharSequence(mimeType, StandardCharsets.US_ASCII);
    }
}
