package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Gets over UDP: with a real server, with a relay that loses, doubles, delays and reorders, and
 * with servers that lie.
 */
@Timeout(60)
class LossyTest {
    private static final Expiry NEVER = Expiry.NEVER;

    /** A server and its UDP port, or that of a relay before it. */
    private record Target(Memcached server, int udp) {}

    private static Target server() throws Exception {
        int port = Memcached.freePort();
        return new Target(Memcached.tcp("-U", Integer.toString(port)), port);
    }

    private static ClientBuilder settings(Target... targets) {
        ClientBuilder settings = MemcacheClient.builder()
                .timeout(Duration.ofSeconds(5)).udpTimeout(Duration.ofSeconds(2));
        for (Target target : targets) {
            settings.server(Address.parse(target.server.address), 1, target.udp);
        }
        return settings;
    }

    @Test
    void valuesOfEverySizeAndKeyCome() throws Exception {
        Target one = server();
        Target other = server();
        Map<String, Integer> ended = new ConcurrentHashMap<>();
        try (one.server; other.server;
                MemcacheClient client = settings(one, other).prefix("space:").compressFrom(1_000)
                        .observer((operation, server, started, nanos, error) ->
                                ended.merge(operation, error == null ? 1 : 1_000, Integer::sum))
                        .build()) {
            assertNull(client.lossyGet("missing"));
            Random random = new Random(5);
            for (int bytes : new int[] {0, 1, 1_370, 1_400, 5_000, 60_000}) {
                byte[] value = new byte[bytes];
                random.nextBytes(value);
                for (String key : List.of("key", "a key\nwith spaces")) {
                    client.set(key, value, 9, NEVER).await();
                    Value read = client.lossyGet(key);
                    assertArrayEquals(value, read.bytes(), bytes + " bytes");
                    assertEquals(9, read.flags());
                }
            }
            client.set("key", new byte[5_000], NEVER).await();
            assertArrayEquals(new byte[5_000], client.lossyGet("key").bytes(), "it is compressed");

            List<String> keys = IntStream.range(0, 300).mapToObj(at -> "k" + at).toList();
            for (int at = 0; at < keys.size(); at += 2) {
                client.set(keys.get(at), keys.get(at), NEVER).ignore();
            }
            client.multiget(keys);
            List<Outcome<Value>> outcomes = client.lossyMultiget(keys);
            for (int at = 0; at < keys.size(); at++) {
                Value value = outcomes.get(at).get();
                assertEquals(at % 2 == 0 ? keys.get(at) : null,
                        value == null ? null : value.utf8());
            }
            assertEquals(314, ended.get("lossy_get"));
        }
    }

    /** The fate of a datagram: the delays of its copies, in microseconds. */
    private interface Fate {
        long[] of(byte[] datagram);
    }

    /** A relay between one client and a server's UDP port. */
    private static final class Relay implements AutoCloseable {
        private final DatagramSocket front =
                new DatagramSocket(0, InetAddress.getLoopbackAddress());
        private final DatagramSocket back = new DatagramSocket();
        private final Fate fate;
        private final List<Copy> waiting = new ArrayList<>();
        private InetSocketAddress client;

        private record Copy(long at, boolean isRequest, byte[] bytes) {}

        Relay(int server, Fate fate) throws IOException {
            this.fate = fate;
            back.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), server));
            front.setSoTimeout(1);
            back.setSoTimeout(1);
            Thread thread = new Thread(this::run);
            thread.setDaemon(true);
            thread.start();
        }

        int port() {
            return front.getLocalPort();
        }

        private void run() {
            try {
                while (true) {
                    take(front, true);
                    take(back, false);
                    deliver();
                }
            } catch (IOException closed) {
                // The test is over.
            }
        }

        private void take(DatagramSocket socket, boolean isRequest) throws IOException {
            DatagramPacket packet = new DatagramPacket(new byte[2_048], 2_048);
            try {
                socket.receive(packet);
            } catch (java.net.SocketTimeoutException nothing) {
                return;
            }
            if (isRequest) {
                client = (InetSocketAddress) packet.getSocketAddress();
            }
            byte[] bytes = Arrays.copyOf(packet.getData(), packet.getLength());
            for (long delay : fate.of(bytes)) {
                long at = System.nanoTime() + TimeUnit.MICROSECONDS.toNanos(delay);
                waiting.add(new Copy(at, isRequest, bytes));
            }
        }

        private void deliver() throws IOException {
            long now = System.nanoTime();
            List<Copy> due = waiting.stream().filter(copy -> now - copy.at >= 0).toList();
            waiting.removeAll(due);
            for (Copy copy : due) {
                if (copy.isRequest) {
                    back.send(new DatagramPacket(copy.bytes, copy.bytes.length));
                } else {
                    front.send(new DatagramPacket(copy.bytes, copy.bytes.length, client));
                }
            }
        }

        @Override
        public void close() {
            front.close();
            back.close();
        }
    }

    @Test
    void lostDoubledAndReorderedDatagramsGiveTheValueOrATimeout() throws Exception {
        Target target = server();
        Random random = new Random(11);
        Fate fate = bytes -> {
            long delay = random.nextInt(3_000);
            return switch (random.nextInt(20)) {
                case 0 -> new long[0];
                case 1, 2 -> new long[] {delay, delay * 2};
                default -> new long[] {delay};
            };
        };
        Duration patience = Duration.ofMillis(200);
        try (target.server; Relay relay = new Relay(target.udp, fate);
                MemcacheClient client = settings(new Target(target.server, relay.port()))
                        .udpTimeout(patience).build()) {
            List<String> keys = IntStream.range(0, 50).mapToObj(at -> "k" + at).toList();
            List<String> values = IntStream.range(0, 50)
                    .mapToObj(at -> (at + ":").repeat(1 + at * 20)).toList();
            for (int at = 0; at < keys.size(); at++) {
                client.set(keys.get(at), values.get(at), NEVER).ignore();
            }
            client.multiget(keys);
            int whole = 0;
            int lost = 0;
            for (int round = 0; round < 4; round++) {
                List<Outcome<Value>> outcomes = new ArrayList<>();
                Soon.within(patience.toMillis() + 500,
                        () -> outcomes.addAll(client.lossyMultiget(keys)));
                for (int at = 0; at < keys.size(); at++) {
                    Outcome<Value> outcome = outcomes.get(at);
                    if (outcome.isOk()) {
                        assertEquals(values.get(at), outcome.get().utf8());
                        whole++;
                    } else {
                        assertInstanceOf(DeadlineExceeded.class, outcome.error().get());
                        lost++;
                    }
                }
            }
            assertTrue(whole > 50 && lost > 10, whole + " whole, " + lost + " lost");
        }
    }

    @Test
    void lateAnswersAreDropped() throws Exception {
        Target target = server();
        // The first answers come while the later requests wait for theirs.
        int[] answers = {0};
        Fate fate = bytes -> {
            boolean isAnswer = !new String(bytes, 8, bytes.length - 8, UTF_8).startsWith("get ");
            answers[0] += isAnswer ? 1 : 0;
            return new long[] {isAnswer && answers[0] <= 3 ? 90_000 : 0};
        };
        try (target.server; Relay relay = new Relay(target.udp, fate);
                MemcacheClient client = settings(new Target(target.server, relay.port()))
                        .udpTimeout(Duration.ofMillis(30)).build()) {
            for (String key : List.of("a", "b", "c", "d")) {
                client.set(key, key, NEVER).await();
            }
            for (String key : List.of("a", "b", "c")) {
                assertThrows(DeadlineExceeded.class, () -> client.lossyGet(key));
            }
            long begun = System.nanoTime();
            int[] reads = {0};
            Soon.until("later ones come", () -> {
                // On a busy machine one may be late by itself.
                assertEquals("d", client.lossyGet("d").utf8());
                reads[0]++;
                return System.nanoTime() - begun > TimeUnit.MILLISECONDS.toNanos(120);
            });
            assertTrue(reads[0] > 0);
        }
    }

    @Test
    void aPausedServerAndOneThatIsNotThereEndByTheDeadline() throws Exception {
        Target target = server();
        Duration patience = Duration.ofMillis(40);
        try (target.server;
                MemcacheClient impatient = settings(target).udpTimeout(patience).build();
                MemcacheClient nobody =
                        settings(new Target(target.server, Memcached.freePort())).build();
                MemcacheClient without = target.server.client()) {
            impatient.set("k", "v", NEVER).await();
            target.server.pause();
            long begun = System.nanoTime();
            assertThrows(DeadlineExceeded.class, () -> impatient.lossyGet("k"));
            long took = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
            assertTrue(took >= 40 && took < 500, took + " ms");
            MemcacheClient hasty = impatient.withTimeout(Duration.ofMillis(5));
            Soon.within(39, () -> {
                assertThrows(DeadlineExceeded.class, () -> hasty.lossyGet("k"));
                return true;
            });
            Thread.currentThread().interrupt();
            assertThrows(Interrupted.class, () -> impatient.lossyGet("k"));
            assertTrue(Thread.interrupted());
            target.server.resume();
            Soon.until("it answers again", () -> impatient.lossyGet("k").utf8().equals("v"));

            for (Outcome<Value> outcome : nobody.lossyMultiget(List.of("a", "b", "c"))) {
                assertInstanceOf(Disconnected.class, outcome.error().get());
            }
            assertThrows(BadKey.class, () -> nobody.lossyGet(""));
            assertThrows(IllegalStateException.class, () -> without.lossyGet("k"));
            MemcacheClient closed = settings(target).build();
            closed.close();
            assertThrows(Disconnected.class, () -> closed.lossyGet("k"));
        }
    }

    @Test
    void aNameIsThatOfTheConnection() throws Exception {
        Target target = server();
        String named = target.server.address.replace("127.0.0.1", "localhost");
        try (target.server; MemcacheClient client = MemcacheClient.builder()
                .server(Address.parse(named), 1, target.udp)
                .timeout(Duration.ofSeconds(5)).udpTimeout(Duration.ofSeconds(2)).build()) {
            client.byteKeys().set("k".getBytes(UTF_8), "v", NEVER).await();
            assertEquals("v", client.byteKeys().lossyGet("k".getBytes(UTF_8)).utf8());
        }
    }

    @Test
    void settingsThatUdpCannotHaveAreRefused() {
        Address address = Address.parse("127.0.0.1");
        ClientBuilder login =
                MemcacheClient.builder().server(address, 1, 1).credentials("ada", "secret");
        assertThrows(IllegalArgumentException.class, login::build);
        assertThrows(IllegalArgumentException.class,
                () -> MemcacheClient.builder().server(address, 1, 0));
        assertThrows(IllegalArgumentException.class,
                () -> MemcacheClient.builder().server(Address.parse("/run/memcached"), 1, 1));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(ISO_8859_1);
    }

    private static byte[] joined(byte[] head, byte[] tail) {
        byte[] both = Arrays.copyOf(head, head.length + tail.length);
        System.arraycopy(tail, 0, both, head.length, tail.length);
        return both;
    }

    /** Answers each request with the next of the answers, and before it another request's. */
    private static void lie(DatagramSocket liar, List<byte[]> answers) {
        try {
            for (byte[] answer : answers) {
                DatagramPacket request = new DatagramPacket(new byte[2_048], 2_048);
                liar.receive(request);
                byte[] number = Arrays.copyOf(request.getData(), 2);
                byte[] other = {number[0], (byte) (number[1] ^ 1), 0, 0, 0, 1, 0, 0};
                byte[] before = joined(other, bytes("VALUE k 0 1\r\nx\r\nEND\r\n"));
                byte[] lie = answer.length < 2 ? answer : joined(number, answer);
                for (byte[] one : List.of(before, lie)) {
                    liar.send(new DatagramPacket(one, one.length, request.getSocketAddress()));
                }
            }
        } catch (IOException closed) {
            // The test is over.
        }
    }

    @Test
    void hostileDatagramsAreIgnoredOrTypedErrors() throws Exception {
        List<String> ignored = List.of("", "\0", "\0\0\0\0\0", "\0\0\0\0\0\0", "\0\1\0\1\0\0E",
                "\0\0\u00ff\u00ff\0\0E", "\0\0\0\2\0\0E");
        List<String> wrong = List.of("", "END", "END\r\nEND\r\n", "VALUE k 0 99999999999\r\n",
                "VALUE other 0 1\r\nx\r\nEND\r\n", "VALUE k 0 1\r\nx\r\n", "STORED\r\n",
                "\u00ff\u00fe");
        List<byte[]> answers = new ArrayList<>();
        ignored.forEach(one -> answers.add(bytes(one)));
        wrong.forEach(one -> answers.add(bytes("\0\0\0\1\0\0" + one)));
        Target target = server();
        try (target.server;
                DatagramSocket liar = new DatagramSocket(0, InetAddress.getLoopbackAddress());
                MemcacheClient client = settings(new Target(target.server, liar.getLocalPort()))
                        .udpTimeout(Duration.ofMillis(100)).build()) {
            Thread thread = new Thread(() -> lie(liar, answers));
            thread.setDaemon(true);
            thread.start();
            for (int at = 0; at < answers.size(); at++) {
                Class<? extends MemcacheException> expected =
                        at < ignored.size() ? DeadlineExceeded.class : ProtocolError.class;
                assertThrows(expected, () -> client.lossyGet("k"), "answer " + at);
            }
        }
    }
}
