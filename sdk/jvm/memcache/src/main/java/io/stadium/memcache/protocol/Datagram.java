package io.stadium.memcache.protocol;

import static java.nio.charset.StandardCharsets.US_ASCII;

import io.stadium.memcache.Dialect;
import io.stadium.memcache.ProtocolError;
import io.stadium.memcache.ProtocolError.Violation;
import io.stadium.memcache.protocol.Operation.Expect;
import java.nio.ByteBuffer;

/**
 * One datagram of an answer over UDP.
 *
 * <p>A datagram is four big-endian numbers of 16 bits and text: request, sequence, total, 0. A
 * request is one datagram with one command. Its answer is {@code total} datagrams with its number,
 * which may be lost, doubled or out of order. memcached counts each value of a {@code get} with
 * several keys from 0 again, so a request here has one key.
 *
 * @param request the number of the request
 * @param sequence its place in the answer
 * @param total datagrams of the answer
 * @param text its part of the answer
 */
public record Datagram(int request, int sequence, int total, byte[] text) {
    private static final int HEADER_BYTES = 8;
    private static final byte[] GET = "get ".getBytes(US_ASCII);
    private static final byte[] LINE_END = "\r\n".getBytes(US_ASCII);

    /** Takes the rest of a buffer; {@code null} where it is no datagram of a server's. */
    public static Datagram read(ByteBuffer bytes) {
        if (bytes.remaining() < HEADER_BYTES) {
            return null;
        }
        int request = Short.toUnsignedInt(bytes.getShort());
        int sequence = Short.toUnsignedInt(bytes.getShort());
        int total = Short.toUnsignedInt(bytes.getShort());
        bytes.getShort();
        if (sequence >= total) {
            return null;
        }
        byte[] text = new byte[bytes.remaining()];
        bytes.get(text);
        return new Datagram(request, sequence, total, text);
    }

    /** Appends the request of a {@code get}, whose answer the operation then expects. */
    public static void request(Bytes out, int number, Operation operation) {
        out.put(number >>> Byte.SIZE);
        out.put(number);
        out.put(new byte[] {0, 0, 0, 1, 0, 0});
        operation.isLast = true;
        operation.opaque = number;
        if (operation.isBinary) {
            operation.expect = Expect.META;
            Encoder.write(out, operation, Dialect.META);
        } else {
            operation.expect = Expect.GET;
            out.put(GET);
            out.put(operation.key);
            out.put(LINE_END);
        }
    }

    /**
     * Hands a whole answer to its operation, whose {@code error} may be set then.
     *
     * @throws ProtocolError it is no answer to the operation, or not one alone
     */
    public static void answer(Operation operation, byte[] text, int valueBytesMax) {
        Pipeline pipeline = new Pipeline(valueBytesMax);
        pipeline.push(operation);
        int taken = pipeline.receive(text, 0, text.length, done -> { });
        if (taken != text.length || !pipeline.isEmpty()) {
            throw new ProtocolError(Violation.UNEXPECTED_ANSWER);
        }
    }
}
