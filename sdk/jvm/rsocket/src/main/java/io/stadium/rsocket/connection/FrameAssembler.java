package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.stadium.rsocket.frame.Frame;

/**
 * Holds the beginning of a frame that a transport has cut, until the rest arrives.
 *
 * <p>Only the cut frame is copied, once if it has at most {@link #WHOLE_BYTES}. A longer one grows
 * with its bytes, so that a peer which announces 16 MiB and sends nothing costs no memory. Frames
 * that arrive whole are read where they are.
 */
final class FrameAssembler {
    /**
     * Frames of at most so many bytes get their whole buffer at once. The default fragment fits.
     */
    private static final int WHOLE_BYTES = 64 * 1024 + Frame.PREFIX_BYTES;

    private final ByteBufAllocator allocator;

    /** Length and beginning of the frame, or {@code null}. */
    private ByteBuf buffer;

    FrameAssembler(ByteBufAllocator allocator) {
        this.allocator = allocator;
    }

    /** The capacity of the buffer, in bytes. */
    int heldBytes() {
        return buffer == null ? 0 : buffer.capacity();
    }

    boolean isEmpty() {
        return buffer == null;
    }

    /**
     * The frame's length without its prefix, or -1 while the prefix is cut. Takes the rest of the
     * prefix from {@code in}.
     */
    int length(ByteBuf in) {
        if (buffer == null) {
            buffer = allocator.buffer(Frame.PREFIX_BYTES, Frame.PREFIX_BYTES + Frame.BYTES_MAX);
        }
        int missing = Frame.PREFIX_BYTES - buffer.writerIndex();
        if (missing > 0) {
            buffer.writeBytes(in, Math.min(missing, in.readableBytes()));
        }
        return buffer.writerIndex() < Frame.PREFIX_BYTES ? -1 : buffer.getUnsignedMedium(0);
    }

    /**
     * Takes bytes of a frame whose length is known.
     *
     * @return whether the frame is whole; {@link #take} hands it out then
     */
    boolean fill(ByteBuf in, int length) {
        int whole = Frame.PREFIX_BYTES + length;
        if (buffer.capacity() < Math.min(whole, WHOLE_BYTES)) {
            buffer.capacity(Math.min(whole, WHOLE_BYTES));
        }
        buffer.writeBytes(in, Math.min(whole - buffer.writerIndex(), in.readableBytes()));
        return buffer.writerIndex() == whole;
    }

    /** Hands out a whole frame, prefix included. The caller releases it. */
    ByteBuf take() {
        ByteBuf frame = buffer;
        buffer = null;
        return frame;
    }

    void release() {
        if (buffer != null) {
            buffer.release();
            buffer = null;
        }
    }
}
