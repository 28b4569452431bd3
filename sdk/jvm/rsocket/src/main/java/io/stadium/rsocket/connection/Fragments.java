package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;
import io.stadium.rsocket.frame.Frame;
import io.stadium.rsocket.frame.FrameFlag;
import io.stadium.rsocket.frame.FrameType;

/**
 * Splits a frame that has been written into fragments, in place (Fragmentation and Reassembly).
 *
 * <p>A payload is encoded once, right into the outgoing buffer. Where it is longer than one frame
 * may be, its fragments are moved apart from the end, and their headers are written into the gaps:
 * metadata completely before data, the completion on the last fragment. Nothing is allocated but
 * the buffer's room.
 *
 * <p>One object splits one frame after another.
 */
final class Fragments {
    private static final int METADATA_LENGTH_BYTES = 3;
    private static final int HEAD_BYTES = Frame.PREFIX_BYTES + Frame.HEADER_BYTES;

    /** Bytes of metadata and data together; a fragment is a range of both. */
    private int total;

    /** Bytes of metadata, or -1. */
    private int metadata;

    /** Bytes in the first fragment, in each later one that has metadata, and in each other. */
    private int firstRoom;

    private int earlyRoom;
    private int lateRoom;

    /** Fragments that have metadata. */
    private int withMetadata;

    /**
     * Splits the frame that begins at {@code start} and ends with {@code out}.
     *
     * @param extra bytes between the header and the payload: those of the initial request n
     * @param metadataLength bytes of metadata without their length, or -1
     * @param frameBytesMax the longest fragment, at least {@link Config#FRAGMENT_BYTES_MIN}
     */
    void split(ByteBuf out, int start, int extra, int metadataLength, int frameBytesMax) {
        int streamId = out.getInt(start + Frame.PREFIX_BYTES);
        int typeAndFlags = out.getUnsignedShort(start + Frame.PREFIX_BYTES + 4);
        int from = start + HEAD_BYTES + extra + (metadataLength >= 0 ? METADATA_LENGTH_BYTES : 0);
        cut(out.writerIndex() - from, extra, metadataLength, frameBytesMax);
        int fragments = count();
        int heads = extra + fragments * HEAD_BYTES + withMetadata * METADATA_LENGTH_BYTES;
        int end = start + heads + total;
        out.ensureWritable(end - out.writerIndex());
        out.writerIndex(end);
        int to = end;
        for (int nth = fragments - 1; nth >= 0; nth--) {
            int begin = begin(nth);
            int bytes = begin(nth + 1) - begin;
            to -= bytes;
            move(out, from + begin, to, bytes);
            boolean isLast = nth == fragments - 1;
            int flags = isLast ? typeAndFlags & FrameFlag.COMPLETE : FrameFlag.FOLLOWS;
            int length = Frame.HEADER_BYTES + bytes;
            if (nth < withMetadata) {
                flags |= FrameFlag.METADATA;
                length += METADATA_LENGTH_BYTES;
                to -= METADATA_LENGTH_BYTES;
                out.setMedium(to, Math.min(begin + bytes, metadata) - Math.min(begin, metadata));
            }
            int type = FrameType.PAYLOAD;
            if (nth == 0) {
                // The initial request n stays where it is.
                type = typeAndFlags >>> 10;
                flags |= typeAndFlags & FrameFlag.NEXT;
                to -= extra;
                length += extra;
            } else {
                flags |= FrameFlag.NEXT;
            }
            to -= HEAD_BYTES;
            out.setMedium(to, length);
            out.setInt(to + Frame.PREFIX_BYTES, streamId);
            out.setShort(to + Frame.PREFIX_BYTES + 4, type << 10 | flags);
        }
        assert to == start : "the first fragment begins where the frame began";
    }

    /** Moves bytes towards the end. The ranges may overlap, which one buffer's copy allows. */
    private static void move(ByteBuf out, int from, int to, int bytes) {
        if (bytes > 0) {
            out.setBytes(to, out, from, bytes);
        }
    }

    private void cut(int total, int extra, int metadataLength, int frameBytesMax) {
        this.total = total;
        metadata = metadataLength;
        lateRoom = frameBytesMax - Frame.HEADER_BYTES;
        if (metadataLength < 0) {
            firstRoom = lateRoom - extra;
            earlyRoom = lateRoom;
            withMetadata = 0;
            return;
        }
        earlyRoom = lateRoom - METADATA_LENGTH_BYTES;
        firstRoom = earlyRoom - extra;
        withMetadata = 1 + divideUp(Math.max(0, metadataLength - firstRoom), earlyRoom);
    }

    /**
     * Where a fragment begins in metadata and data; that of the number after the last is the end.
     */
    private int begin(int nth) {
        if (nth == 0) {
            return 0;
        }
        int early = Math.min(nth - 1, Math.max(0, withMetadata - 1));
        long begin = firstRoom + (long) early * earlyRoom + (long) (nth - 1 - early) * lateRoom;
        return (int) Math.min(begin, total);
    }

    private int count() {
        int early = Math.max(0, withMetadata - 1);
        return 1 + early + divideUp(Math.max(0, total - firstRoom - early * earlyRoom), lateRoom);
    }

    private static int divideUp(int a, int b) {
        return (a + b - 1) / b;
    }
}
