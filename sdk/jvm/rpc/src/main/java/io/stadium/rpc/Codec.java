package io.stadium.rpc;

import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.netty.buffer.ByteBuf;
import io.stadium.rsocket.connection.PayloadWriter;
import java.io.IOException;

/**
 * A message's bytes, written and read.
 *
 * <p>A codec is stateless: one object serves all calls and threads.
 *
 * @param <T> the type of messages
 */
public interface Codec<T> extends PayloadWriter<T> {
    /** Messages that are bytes already. */
    Codec<byte[]> BYTES = new Codec<>() {
        @Override
        public void write(byte[] message, ByteBuf out) {
            out.writeBytes(message);
        }

        @Override
        public byte[] read(ByteBuf in) {
            byte[] message = new byte[in.readableBytes()];
            in.readBytes(message);
            return message;
        }
    };

    /**
     * Reads a message, which is all readable bytes of a buffer. The buffer is valid during the call
     * only.
     *
     * @param in the bytes
     * @return the message
     * @throws IOException the bytes are no such message
     */
    T read(ByteBuf in) throws IOException;

    /**
     * Messages of Protocol Buffers.
     *
     * @param parser the parser of the generated class
     * @param <M> the generated class
     * @return the codec
     */
    static <M extends MessageLite> Codec<M> protobuf(Parser<M> parser) {
        return new ProtobufCodec<>(parser);
    }
}
