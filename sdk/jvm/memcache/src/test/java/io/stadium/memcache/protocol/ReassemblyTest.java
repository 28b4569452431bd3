package io.stadium.memcache.protocol;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.api.Test;

/** Datagrams, and the answers that they make. */
class ReassemblyTest {
    private static byte[] bytes(String text) {
        return text.getBytes(US_ASCII);
    }

    private static Datagram datagram(int sequence, int total, String text) {
        return new Datagram(7, sequence, total, bytes(text));
    }

    @Test
    void headersAreWrittenAndRead() {
        Bytes out = new Bytes();
        Operation operation = new Operation(Command.GET, bytes("k"), false, 0);
        Datagram.request(out, 0xf102, operation);
        byte[] sent = Arrays.copyOf(out.array(), out.length());
        assertArrayEquals(joined(new byte[] {(byte) 0xf1, 2, 0, 0, 0, 1, 0, 0}, "get k\r\n"), sent);
        Datagram read = Datagram.read(ByteBuffer.wrap(sent));
        assertEquals(0xf102, read.request());
        assertArrayEquals(bytes("get k\r\n"), read.text());
        for (int cut = 0; cut < 8; cut++) {
            assertNull(Datagram.read(ByteBuffer.wrap(sent, 0, cut)));
        }
        assertNull(Datagram.read(ByteBuffer.wrap(new byte[] {0, 7, 0, 0, 0, 0, 0, 0})));
        assertNull(Datagram.read(ByteBuffer.wrap(new byte[] {0, 7, 0, 2, 0, 2, 0, 0})));
    }

    private static byte[] joined(byte[] head, String text) {
        return ByteBuffer.allocate(head.length + text.length()).put(head).put(bytes(text)).array();
    }

    @Test
    void answersComeTogetherInAnyOrder() {
        Reassembly answer = new Reassembly();
        assertNull(answer.add(datagram(2, 3, "c"), 100));
        assertNull(answer.add(datagram(0, 3, "a"), 100));
        assertNull(answer.add(datagram(0, 3, "x"), 100), "doubled");
        assertNull(answer.add(datagram(1, 2, "x"), 100), "another total");
        assertArrayEquals(bytes("abc"), answer.add(datagram(1, 3, "b"), 100));
        assertArrayEquals(bytes(""), new Reassembly().add(datagram(0, 1, ""), 100));
    }

    @Test
    void theMemoryOfAnAnswerIsBounded() {
        Reassembly answer = new Reassembly();
        assertNull(answer.add(datagram(0, 65_535, "a"), 1_000));
        String text = "x".repeat(3_000);
        assertNull(answer.add(datagram(0, 3, text), 1_000));
        assertNull(answer.add(datagram(1, 3, text), 1_000), "too long together");
        assertNull(answer.add(datagram(1, 3, "y"), 1_000));
        assertNotNull(answer.add(datagram(2, 3, "z"), 1_000));
    }
}
