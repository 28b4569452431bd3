package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;

/** A payload whose last fragment has not arrived (Fragmentation and Reassembly). */
final class Partial {
    /**
     * What an unfinished payload is taken to cost besides its bytes: empty fragments are not free.
     */
    static final int BYTES = 256;

    private final ByteBufAllocator allocator;
    private ByteBuf metadata;
    private ByteBuf data;
    private boolean complete;

    Partial(ByteBufAllocator allocator) {
        this.allocator = allocator;
    }

    /** Adds a fragment. A negative length of metadata means that it has none. */
    void add(ByteBuf source, int metadataIndex, int metadataLength, int dataIndex, int dataLength,
            boolean complete) {
        if (metadataLength >= 0) {
            metadata = append(metadata, source, metadataIndex, metadataLength);
        }
        if (dataLength > 0) {
            data = append(data, source, dataIndex, dataLength);
        }
        this.complete |= complete;
    }

    private ByteBuf append(ByteBuf to, ByteBuf source, int index, int length) {
        ByteBuf bytes = to != null ? to : allocator.buffer(Math.max(length, 64));
        return bytes.writeBytes(source, index, length);
    }

    /** Metadata so far, or {@code null}. */
    ByteBuf metadata() {
        return metadata;
    }

    /** Data so far, or {@code null}. */
    ByteBuf data() {
        return data;
    }

    /** Whether one of the fragments completes the sender's direction. */
    boolean isComplete() {
        return complete;
    }

    /** The bytes that count against the bound of a connection. */
    long bytes() {
        return (long) BYTES + readable(metadata) + readable(data);
    }

    private static int readable(ByteBuf bytes) {
        return bytes == null ? 0 : bytes.readableBytes();
    }

    void release() {
        if (metadata != null) {
            metadata.release();
            metadata = null;
        }
        if (data != null) {
            data.release();
            data = null;
        }
    }
}
