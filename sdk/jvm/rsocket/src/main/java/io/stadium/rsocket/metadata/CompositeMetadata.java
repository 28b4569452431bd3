package io.stadium.rsocket.metadata;

import io.netty.buffer.ByteBuf;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/**
 * A cursor over the entries of composite metadata (Composite Metadata Extension).
 *
 * <pre>{@code
 * cursor.reset(buffer, index, length);
 * while (cursor.next()) {
 *     if (cursor.mimeTypeId() == WellKnownMimeType.ROUTING) { ... cursor.contentIndex() ... }
 * }
 * }</pre>
 *
 * <p>Nothing is copied and nothing is allocated, except by {@link #mimeType}. After a malformed
 * entry there are no others. Instances are not thread-safe; the cursor does not retain the buffer.
 */
public final class CompositeMetadata {
    /** Bytes of a MIME type that its 7-bit length can express. */
    public static final int MIME_TYPE_BYTES_MAX = 128;

    /** Bytes of an entry's content that its 24-bit length can express. */
    public static final int CONTENT_BYTES_MAX = 0xFF_FFFF;

    /** Eight bytes of a name, as {@link ByteBuf#getLong} reads them. */
    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private ByteBuf buffer;
    private int at;
    private int end;
    private boolean malformed;
    private int mimeTypeId;
    private int mimeTypeIndex;
    private int mimeTypeLength;
    private int contentIndex;
    private int contentLength;

    /** Creates a cursor over nothing. */
    public CompositeMetadata() {}

    /**
     * Goes to the beginning of other metadata.
     *
     * @param source the buffer that holds it; its indices are left alone
     * @param index where it begins
     * @param length its bytes; 0 or less means none
     * @return this cursor
     */
    public CompositeMetadata reset(ByteBuf source, int index, int length) {
        buffer = source;
        at = index;
        end = index + Math.max(length, 0);
        malformed = false;
        return this;
    }

    /**
     * Goes to the next entry.
     *
     * @return whether there is one; {@code false} at the end and at what is malformed
     */
    public boolean next() {
        if (at >= end) {
            return false;
        }
        int first = buffer.getUnsignedByte(at);
        int length;
        if (first >= 0x80) {
            mimeTypeId = first & 0x7F;
            mimeTypeIndex = at;
            mimeTypeLength = 0;
        } else {
            mimeTypeId = -1;
            mimeTypeIndex = at + 1;
            mimeTypeLength = first + 1;
        }
        length = at + 1 + mimeTypeLength;
        if (end - length < 3 || buffer.getUnsignedMedium(length) > end - length - 3) {
            malformed = true;
            at = end;
            return false;
        }
        contentIndex = length + 3;
        contentLength = buffer.getUnsignedMedium(length);
        at = contentIndex + contentLength;
        return true;
    }

    /**
     * Goes to the next entry of one MIME type.
     *
     * @param id an id of {@link WellKnownMimeType}
     * @return whether there is one before the end and before what is malformed
     */
    public boolean find(int id) {
        while (next()) {
            if (mimeTypeId == id) {
                return true;
            }
        }
        return false;
    }

    /**
     * Whether {@link #next} stopped at an entry that ends before what it announces.
     *
     * @return whether the metadata is malformed
     */
    public boolean isMalformed() {
        return malformed;
    }

    /**
     * The id of the entry's MIME type.
     *
     * @return 0 to 127, or -1 where the entry has a name
     */
    public int mimeTypeId() {
        return mimeTypeId;
    }

    /**
     * Whether the entry has this name, which has no well-known id.
     *
     * @param name a MIME type in US-ASCII
     * @return whether the bytes are equal
     */
    public boolean isNamed(byte[] name) {
        if (mimeTypeId >= 0 || mimeTypeLength != name.length) {
            return false;
        }
        int nth = 0;
        for (; nth + Long.BYTES <= name.length; nth += Long.BYTES) {
            if (buffer.getLong(mimeTypeIndex + nth) != (long) LONGS.get(name, nth)) {
                return false;
            }
        }
        for (; nth < name.length; nth++) {
            if (buffer.getByte(mimeTypeIndex + nth) != name[nth]) {
                return false;
            }
        }
        return true;
    }

    /**
     * The entry's MIME type.
     *
     * @return a new string, or {@code null} for an id without a name
     */
    public String mimeType() {
        return mimeTypeId >= 0
                ? WellKnownMimeType.name(mimeTypeId)
                : buffer.toString(mimeTypeIndex, mimeTypeLength, StandardCharsets.UTF_8);
    }

    /**
     * Where the entry's content begins.
     *
     * @return an index of the buffer
     */
    public int contentIndex() {
        return contentIndex;
    }

    /**
     * The length of the entry's content.
     *
     * @return bytes
     */
    public int contentLength() {
        return contentLength;
    }

    /**
     * Appends an entry with a well-known MIME type.
     *
     * @param out the buffer to append to
     * @param mimeTypeId 0 to 127
     * @param content its readable bytes are the content; its indices are left alone
     */
    public static void write(ByteBuf out, int mimeTypeId, ByteBuf content) {
        int start = begin(out, mimeTypeId);
        out.writeBytes(content, content.readerIndex(), content.readableBytes());
        end(out, start);
    }

    /**
     * Appends an entry. A MIME type that has an id is written as its id.
     *
     * @param out the buffer to append to
     * @param mimeType 1 to 128 characters of US-ASCII
     * @param content its readable bytes are the content; its indices are left alone
     */
    public static void write(ByteBuf out, String mimeType, ByteBuf content) {
        int start = begin(out, mimeType);
        out.writeBytes(content, content.readerIndex(), content.readableBytes());
        end(out, start);
    }

    /**
     * Begins an entry with a well-known MIME type. The caller appends the content and calls
     * {@link #end}.
     *
     * @param out the buffer to append to
     * @param mimeTypeId 0 to 127
     * @return where the entry's length is, for {@code end}
     */
    public static int begin(ByteBuf out, int mimeTypeId) {
        out.writeByte(0x80 | mimeTypeId);
        out.writeMedium(0);
        return out.writerIndex() - 3;
    }

    /**
     * Begins an entry. The caller appends the content and calls {@link #end}.
     *
     * @param out the buffer to append to
     * @param mimeType 1 to 128 characters of US-ASCII
     * @return where the entry's length is, for {@code end}
     */
    public static int begin(ByteBuf out, String mimeType) {
        MimeTypes.append(out, mimeType);
        out.writeMedium(0);
        return out.writerIndex() - 3;
    }

    /**
     * Writes the length of the entry that ends with {@code out}.
     *
     * @param out the buffer that holds the entry
     * @param start the result of {@code begin}
     * @throws IllegalArgumentException if the content is longer than {@link #CONTENT_BYTES_MAX}
     */
    public static void end(ByteBuf out, int start) {
        int length = out.writerIndex() - start - 3;
        if (length > CONTENT_BYTES_MAX) {
            throw new IllegalArgumentException("metadata of " + length + " bytes is too large");
        }
        out.setMedium(start, length);
    }
}
