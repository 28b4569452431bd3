package io.stadium.memcache.protocol;

/** The datagrams of one answer as they come, in any order. */
public final class Reassembly {
    /**
     * Bytes of text that each datagram of an answer has at least, the last one excepted. It bounds
     * the memory that a hostile total can take. memcached fills datagrams of 1,400 bytes.
     */
    private static final int PART_BYTES_MIN = 500;

    /** By their places; those that came are not {@code null}. */
    private byte[][] parts;
    private int missing;
    private int bytes;

    /**
     * Takes a datagram of the answer. Ignored are one that came before, one whose total is another
     * than the first one's, and one with which the answer would be longer than a value of {@code
     * valueBytesMax} takes.
     *
     * @return the answer when it is whole; otherwise {@code null}
     */
    public byte[] add(Datagram datagram, int valueBytesMax) {
        long bytesMax = valueBytesMax + 2L * Decoder.LINE_BYTES_MAX;
        byte[] text = datagram.text();
        if ((long) bytes + text.length > bytesMax
                || datagram.total() > bytesMax / PART_BYTES_MIN + 1) {
            return null;
        }
        if (parts == null) {
            parts = new byte[datagram.total()][];
            missing = parts.length;
        }
        if (datagram.total() != parts.length || parts[datagram.sequence()] != null) {
            return null;
        }
        parts[datagram.sequence()] = text;
        bytes += text.length;
        missing--;
        return missing == 0 ? whole() : null;
    }

    private byte[] whole() {
        if (parts.length == 1) {
            return parts[0];
        }
        byte[] answer = new byte[bytes];
        int at = 0;
        for (byte[] part : parts) {
            System.arraycopy(part, 0, answer, at, part.length);
            at += part.length;
        }
        return answer;
    }
}
