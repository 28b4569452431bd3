package io.stadium.rsocket.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.util.concurrent.FastThreadLocal;

/**
 * The buffers that the connections of one event loop append to.
 *
 * <p>Frames are appended to an array, where protobuf writes without a view or a copy, and a batch is
 * copied for the channel at once. To copy each message while its bytes are still on their way to the
 * cache would make the processor wait.
 *
 * <p>A batch's frames usually reach the socket before the next batch begins, so few buffers serve
 * all connections of a loop, and stay in the processor's cache: the one that was used last is the
 * next.
 */
final class OutBuffers {
    /**
     * A buffer's first capacity: it goes to the channel at half of it, and then a last answer fits.
     */
    private static final int BYTES = 128 * 1024;

    /**
     * Arrays that are kept. In one turn of a loop that answers a hundred connections, calls are sent
     * on some ten others. Of most arrays only the first pages are ever touched.
     */
    private static final int SPARES_MAX = 16;

    private static final FastThreadLocal<OutBuffers> LOOP = new FastThreadLocal<>() {
        @Override
        protected OutBuffers initialValue() {
            return new OutBuffers();
        }

        @Override
        protected void onRemoval(OutBuffers buffers) {
            buffers.drop();
        }
    };

    private final ByteBuf[] spares = new ByteBuf[SPARES_MAX];
    private int count;

    /** The channels' buffer for the next batch. A channel may still hold it too. */
    private ByteBuf outgoing;

    private OutBuffers() {}

    /** The buffers of the current event loop. */
    static OutBuffers ofLoop() {
        return LOOP.get();
    }

    /** An empty buffer in an array. Its owner gives it back, or releases it. */
    ByteBuf take() {
        return count == 0 ? Unpooled.buffer(BYTES) : spares[--count];
    }

    /** Takes back a buffer whose bytes are no longer needed. */
    void giveBack(ByteBuf buffer) {
        if (count < SPARES_MAX && buffer.capacity() == BYTES) {
            spares[count++] = buffer.clear();
        } else {
            buffer.release();
        }
    }

    /** The bytes of a buffer for a channel, which releases them when the socket took them. */
    ByteBuf outgoing(ByteBuf bytes, ByteBufAllocator allocator) {
        int length = bytes.readableBytes();
        if (length > BYTES) {
            return allocator.ioBuffer(length).writeBytes(bytes);
        }
        if (outgoing == null || outgoing.refCnt() != 1) {
            drop();
            outgoing = allocator.ioBuffer(BYTES);
        }
        return outgoing.clear().writeBytes(bytes).retain();
    }

    private void drop() {
        if (outgoing != null) {
            outgoing.release();
            outgoing = null;
        }
    }
}
