package io.stadium.memcache.driver;

import io.stadium.memcache.protocol.Bytes;
import io.stadium.memcache.protocol.Operation;
import io.stadium.memcache.protocol.Outbox;
import io.stadium.memcache.protocol.Pipeline;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.function.Consumer;

/**
 * One life of a connection: its socket, and the bytes on their way in and out.
 *
 * <p>The thread that turns the connection owns the input, the one that writes owns the output.
 */
final class Wire {
    /** Bytes of one read or write at most. */
    private static final int PIECE_BYTES = 64 << 10;

    /** The room for input that is kept when it is empty. */
    private static final int KEPT_BYTES = 256 << 10;

    final Transport transport;

    private final ByteBuffer piece = ByteBuffer.allocateDirect(PIECE_BYTES);
    private byte[] input = new byte[2 * PIECE_BYTES];
    private int inputBegin;
    private int inputEnd;

    private final ByteBuffer outPiece = ByteBuffer.allocateDirect(PIECE_BYTES);
    private Bytes output = new Bytes();
    private int outputBegin;

    Wire(Transport transport) {
        this.transport = transport;
    }

    /** Reads once; the bytes that came, 0 for none, -1 for the end. */
    int read() throws IOException {
        piece.clear();
        int bytes = transport.read(piece);
        if (bytes <= 0) {
            return bytes;
        }
        if (input.length - inputEnd < bytes) {
            int held = inputEnd - inputBegin;
            byte[] target = input.length < held + bytes
                    ? new byte[Math.max(held + bytes, input.length * 2)] : input;
            System.arraycopy(input, inputBegin, target, 0, held);
            input = target;
            inputBegin = 0;
            inputEnd = held;
        }
        piece.flip().get(input, inputEnd, bytes);
        inputEnd += bytes;
        return bytes;
    }

    /** Hands received answers to their operations. */
    void takeIn(Pipeline pipeline, Consumer<Operation> sink) {
        inputBegin += pipeline.receive(input, inputBegin, inputEnd, sink);
        if (inputBegin == inputEnd) {
            inputBegin = 0;
            inputEnd = 0;
            if (input.length > KEPT_BYTES) {
                input = Arrays.copyOf(input, 2 * PIECE_BYTES);
            }
        }
    }

    /** Takes the sealed bytes, where all earlier ones are written. */
    void fill(Outbox outbox) {
        if (outbox.sealedBytes() > 0 && outputBegin == output.length()) {
            output.clear();
            outputBegin = 0;
            output = outbox.takeSealed(output);
        }
    }

    /** Bytes that are not written. */
    int unwritten() {
        int bytes = output.length() - outputBegin;
        return bytes == 0 && transport.unflushed() ? 1 : bytes;
    }

    /** Writes until all is written, or the socket takes no more: then {@code false}. */
    boolean write() throws IOException {
        while (unwritten() > 0) {
            int bytes = Math.min(output.length() - outputBegin, PIECE_BYTES);
            outPiece.clear();
            outPiece.put(output.array(), outputBegin, bytes).flip();
            int written = transport.write(outPiece);
            outputBegin += written;
            if (written < bytes || transport.unflushed()) {
                return false;
            }
        }
        return true;
    }
}
