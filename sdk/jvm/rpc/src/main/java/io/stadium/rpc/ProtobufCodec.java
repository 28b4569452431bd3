package io.stadium.rpc;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.MessageLite;
import com.google.protobuf.Parser;
import io.netty.buffer.ByteBuf;
import io.netty.util.concurrent.FastThreadLocal;
import java.io.IOException;

/**
 * Messages of Protocol Buffers. They are written into the connection's array; small ones are read
 * through an array of the thread. Protobuf reads and writes arrays faster than direct buffers, of
 * which each call would also make a view.
 *
 * @param <M> the generated class
 */
final class ProtobufCodec<M extends MessageLite> implements Codec<M> {
    /** Larger messages are not copied. */
    private static final int SCRATCH_BYTES = 16 * 1024;

    private static final FastThreadLocal<byte[]> SCRATCH = new FastThreadLocal<>() {
        @Override
        protected byte[] initialValue() {
            return new byte[SCRATCH_BYTES];
        }
    };

    private final Parser<M> parser;

    ProtobufCodec(Parser<M> parser) {
        this.parser = parser;
    }

    @Override
    public void write(M message, ByteBuf out) {
        int size = message.getSerializedSize();
        out.ensureWritable(size);
        int start = out.writerIndex();
        try {
            if (out.hasArray()) {
                write(message, CodedOutputStream.newInstance(
                        out.array(), out.arrayOffset() + start, size));
            } else {
                write(message, CodedOutputStream.newInstance(out.nioBuffer(start, size)));
            }
        } catch (IOException impossible) {
            throw new IllegalStateException("a message is larger than it said", impossible);
        }
        out.writerIndex(start + size);
    }

    private static void write(MessageLite message, CodedOutputStream stream) throws IOException {
        message.writeTo(stream);
        stream.flush();
    }

    @Override
    public M read(ByteBuf in) throws IOException {
        int size = in.readableBytes();
        CodedInputStream stream;
        if (in.hasArray()) {
            stream = CodedInputStream.newInstance(
                    in.array(), in.arrayOffset() + in.readerIndex(), size);
        } else if (size <= SCRATCH_BYTES) {
            byte[] scratch = SCRATCH.get();
            in.getBytes(in.readerIndex(), scratch, 0, size);
            stream = CodedInputStream.newInstance(scratch, 0, size);
        } else {
            stream = CodedInputStream.newInstance(in.nioBuffer());
        }
        return parser.parseFrom(stream);
    }
}
