package io.stadium.rsocket.netty;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.util.concurrent.FastThreadLocal;

/**
 * The buffers that the connections of one event loop append to.
 *
 * <p>A batch's frames usually reach the socket before the next batch begins, so one buffer serves
 * all connections of a loop, and stays in the processor's cache. While a socket has not taken a
 * buffer, the loop uses another one.
 */
final class OutBuffers {
    /**
     * A buffer's first capacity: it goes to the channel at half of it, and then a last answer fits.
     */
    private static final int BYTES = 128 * 1024;

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

    /** The buffer for the next batch. A channel may still hold it too. */
    private ByteBuf spare;

    private OutBuffers() {}

    /** The buffers of the current event loop. */
    static OutBuffers ofLoop() {
        return LOOP.get();
    }

    /**
     * An empty buffer. Its owner passes it to {@link #lend} or {@link #giveBack}, or releases it.
     */
    ByteBuf take(ByteBufAllocator allocator) {
        ByteBuf buffer = spare;
        if (buffer != null && buffer.refCnt() == 1) {
            spare = null;
            return buffer.clear();
        }
        drop();
        return allocator.ioBuffer(BYTES);
    }

    /**
     * Notes a buffer that its owner now passes to a channel, which releases it when the socket took
     * it.
     */
    void lend(ByteBuf buffer) {
        if (spare == null && buffer.capacity() == BYTES) {
            spare = buffer.retain();
        }
    }

    /** Takes back a buffer that was not used. */
    void giveBack(ByteBuf buffer) {
        if (spare == null) {
            spare = buffer;
        } else {
            buffer.release();
        }
    }

    private void drop() {
        if (spare != null) {
            spare.release();
            spare = null;
        }
    }
}
