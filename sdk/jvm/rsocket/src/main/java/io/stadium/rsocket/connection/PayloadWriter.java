package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;

/**
 * Writes a message's bytes into the outgoing buffer.
 *
 * <p>A writer only appends to the buffer. It must not call the connection: a frame is half written
 * meanwhile. If it throws, the frame is taken back and the exception reaches the caller. A writer
 * without captured variables is one object for all calls, so that sending allocates nothing.
 *
 * @param <T> the type of messages
 */
@FunctionalInterface
public interface PayloadWriter<T> {
    /**
     * Copies the readable bytes of a buffer, whose indices are left alone. {@code null} has no
     * bytes.
     */
    PayloadWriter<ByteBuf> BUFFER = (data, out) -> {
        if (data != null) {
            out.writeBytes(data, data.readerIndex(), data.readableBytes());
        }
    };

    /** Copies an array. */
    PayloadWriter<byte[]> BYTES = (data, out) -> out.writeBytes(data);

    /**
     * Appends the bytes of a message.
     *
     * @param message the message
     * @param out the buffer to append to
     */
    void write(T message, ByteBuf out);
}
