package io.stadium.memcache;

import java.util.Arrays;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Compressed values: one zlib stream (RFC 1950) each, as the client in Rust writes them. A value
 * that does not become smaller is stored as it is.
 */
final class Compression {
    /** Compression that costs little time: values are small, and the network is near. */
    private static final int LEVEL = 2;

    /** Growth of the output at first: most values compress less than fourfold. */
    private static final int RATIO = 4;

    private static final int ROOM_MIN = 64;

    private Compression() {}

    /** The value as one stream; {@code null} where that is not smaller. */
    static byte[] compress(byte[] value) {
        Deflater deflater = new Deflater(LEVEL);
        try {
            deflater.setInput(value);
            deflater.finish();
            // A stream that does not fit is not smaller.
            byte[] out = new byte[value.length - 1];
            int bytes = 0;
            while (bytes < out.length && !deflater.finished()) {
                bytes += deflater.deflate(out, bytes, out.length - bytes);
            }
            return deflater.finished() ? Arrays.copyOf(out, bytes) : null;
        } finally {
            deflater.end();
        }
    }

    /** The bytes of one stream. */
    static byte[] decompress(byte[] stream, int bytesMax) {
        Inflater inflater = new Inflater();
        try {
            inflater.setInput(stream);
            long room = Math.max(ROOM_MIN, (long) stream.length * RATIO);
            byte[] out = new byte[(int) Math.min(bytesMax + 1L, room)];
            int bytes = 0;
            while (!inflater.finished()) {
                if (bytes == out.length) {
                    if (bytes > bytesMax) {
                        throw new DamagedValue("the compressed value has more than the " + bytesMax
                                + " bytes that are accepted");
                    }
                    // One more than what is accepted shows that there is more.
                    out = Arrays.copyOf(out, (int) Math.min(bytesMax + 1L, bytes * 2L));
                }
                int inflated = inflater.inflate(out, bytes, out.length - bytes);
                if (inflated == 0 && !inflater.finished()) {
                    throw damaged();
                }
                bytes += inflated;
            }
            if (inflater.getRemaining() > 0) {
                throw damaged();
            }
            if (bytes > bytesMax) {
                throw new DamagedValue("the compressed value has more than the " + bytesMax
                        + " bytes that are accepted");
            }
            return Arrays.copyOf(out, bytes);
        } catch (DataFormatException error) {
            throw damaged();
        } finally {
            inflater.end();
        }
    }

    private static DamagedValue damaged() {
        return new DamagedValue("the compressed value is damaged");
    }
}
