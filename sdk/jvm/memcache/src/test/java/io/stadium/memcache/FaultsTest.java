package io.stadium.memcache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Servers that are killed, paused, full, or not there: every call ends by its deadline. */
@Timeout(60)
class FaultsTest {
    private static final Expiry NEVER = Expiry.NEVER;

    private static void untilItWorks(MemcacheClient client) throws Exception {
        Soon.until("it works", () -> {
            client.get("k");
            return true;
        });
    }

    @Test
    void nobodyListens() throws Exception {
        String address = "127.0.0.1:" + Memcached.freePort();
        try (MemcacheClient client = MemcacheClient.builder().servers(address).build()) {
            Soon.within(500, () -> {
                assertThrows(Disconnected.class, () -> client.get("k"));
                // It fails at once between tries.
                for (int at = 0; at < 1_000; at++) {
                    assertThrows(Disconnected.class, () -> client.set("k", "v", NEVER));
                }
                return true;
            });
        }
        assertThrows(Disconnected.class, () -> MemcacheClient.connect(address));
        assertThrows(Disconnected.class, () -> MemcacheClient.connect("/nonexistent/memcached"));
        assertThrows(IllegalArgumentException.class, () -> MemcacheClient.builder().build());
    }

    @Test
    void aKilledServerEndsCallsAndANewOneIsFound() throws Exception {
        try (Memcached server = Memcached.tcp(); MemcacheClient client = server.client()) {
            client.set("k", "v", NEVER).await();
            Thread killer = new Thread(() -> {
                try {
                    Thread.sleep(30);
                    server.kill();
                } catch (InterruptedException error) {
                    Thread.currentThread().interrupt();
                }
            });
            killer.start();
            Soon.together(8, thread -> assertThrows(Disconnected.class, () -> {
                // Until the kill shows; each call ends in any case.
                while (true) {
                    client.get("k");
                }
            }));
            killer.join();
            server.start();
            untilItWorks(client);
            assertNull(client.get("k"));
        }
    }

    @Test
    void aRestartWhileTheClientIsIdleIsNotNoticed() throws Exception {
        try (Memcached server = Memcached.tcp(); MemcacheClient client = server.client()) {
            client.set("k", "v", NEVER).await();
            server.start();
            assertNull(client.get("k"));
        }
    }

    @Test
    void aPausedServerTimesOutAndIsUsedAgain() throws Exception {
        try (Memcached server = Memcached.tcp();
                MemcacheClient client = server.settings()
                        .timeout(Duration.ofMillis(60)).stall(Duration.ofSeconds(30)).build()) {
            client.withTimeout(Duration.ofSeconds(5)).set("k", "v", NEVER).await();
            server.pause();
            Soon.within(1_000, () -> {
                Soon.together(8, thread -> {
                    assertThrows(DeadlineExceeded.class, () -> client.get("k"));
                    assertThrows(DeadlineExceeded.class,
                            () -> client.set("k", "w", NEVER).await());
                });
                return true;
            });
            server.resume();
            Value value = client.withTimeout(Duration.ofSeconds(5)).get("k");
            assertEquals("w", value.utf8(), "late answers went nowhere");
        }
    }

    /** Callers sleep without a timer of their own: the one that turns keeps the deadlines of all. */
    @Test
    void eachCallerEndsAtItsOwnDeadlineWhileOthersWaitLonger() throws Exception {
        try (Memcached server = Memcached.tcp();
                MemcacheClient client = server.settings()
                        .timeout(Duration.ofSeconds(5)).stall(Duration.ofSeconds(30)).build()) {
            client.set("k", "v", NEVER).await();
            server.pause();
            // The longest one turns first, the shortest one comes last.
            Soon.together(40, thread -> {
                long timeout = (40 - thread) * 20L;
                MemcacheClient patient = client.withTimeout(Duration.ofMillis(timeout));
                long begun = System.nanoTime();
                assertThrows(DeadlineExceeded.class, () -> patient.get("k"));
                long took = (System.nanoTime() - begun) / 1_000_000;
                assertTrue(took >= timeout && took < timeout + 400, took + " of " + timeout);
            });
            server.resume();
            assertEquals("v", client.get("k").utf8());
        }
    }

    @Test
    void aStalledServerIsDisconnected() throws Exception {
        try (Memcached server = Memcached.tcp();
                MemcacheClient client = server.settings().stall(Duration.ofMillis(80))
                        .connectTimeout(Duration.ofMillis(80)).build()) {
            client.set("k", "v", NEVER).await();
            server.pause();
            Disconnected error =
                    assertThrows(Disconnected.class, () -> client.set("k", "w", NEVER).await());
            assertTrue(error.getMessage().contains("sent nothing"), error.getMessage());
            // Connecting fails too.
            assertThrows(Disconnected.class, () -> client.get("k"));
            server.resume();
            untilItWorks(client);
        }
    }

    @Test
    void tooMuchForAPausedServerIsBusy() throws Exception {
        try (Memcached server = Memcached.tcp();
                MemcacheClient client = server.settings()
                        .operationsMax(500).unsentBytesMax(100_000).build()) {
            client.connectAll();
            server.pause();
            assertThrows(Busy.class, () -> {
                for (int at = 0; at < 501; at++) {
                    client.set("k", "v", NEVER);
                }
            });
            server.resume();
            untilItWorks(client);
            server.pause();
            assertThrows(Busy.class, () -> {
                for (int at = 0; at < 400; at++) {
                    client.set("k", new byte[100_000], NEVER);
                }
            });
            server.resume();
            assertNotNull(client.get("k"));
        }
    }

    @Test
    void aFullServerReportsWhichSetFailed() throws Exception {
        byte[] value = new byte[6_000];
        try (Memcached server = Memcached.unix("-M", "-m", "2")) {
            try (MemcacheClient client = server.client()) {
                int failures = 0;
                for (int number = 0; number < 1_000; number++) {
                    String key = "k" + number;
                    try {
                        client.set(key, value, NEVER).await();
                        assertNotNull(client.get(key));
                    } catch (ServerError error) {
                        assertTrue(error.getMessage().contains("out of memory"));
                        assertNull(client.get(key));
                        failures++;
                    }
                }
                assertTrue(failures > 10, failures + " failures");
            }
            // Together, none that failed is reported as stored.
            try (MemcacheClient client = server.client()) {
                List<Pending<Void>> pending = new ArrayList<>();
                for (int number = 0; number < 100; number++) {
                    pending.add(client.set("n" + number, value, NEVER));
                }
                int failures = 0;
                for (int number = 0; number < 100; number++) {
                    try {
                        pending.get(number).await();
                        assertNotNull(client.get("n" + number));
                    } catch (ServerError | Uncertain error) {
                        failures++;
                    }
                }
                assertTrue(failures > 0);
            }
        }
    }

    @Test
    void serversThatAnswerGarbageEndCallsWithAnError() throws Exception {
        List<String> answers = List.of(
                "HTTP/1.1 400 Bad Request\r\n\r\n",
                "VALUE k 0 99999999999999999999\r\n",
                "VALUE k 0 1048577\r\n",
                "VALUE other 0 1\r\nx\r\nEND\r\n",
                "VA 1 O9\r\nx\r\n",
                "STORED\r\n",
                "\u00ff\u00fe\r\n",
                "X".repeat(3_000));
        for (String answer : answers) {
            try (Memcached.Impostor server = new Memcached.Impostor(answer, false);
                    MemcacheClient client = MemcacheClient.connect(server.address())) {
                Soon.within(2_000, () -> {
                    assertThrows(ProtocolError.class, () -> {
                        for (int at = 0; at < 3; at++) {
                            client.get("k");
                        }
                    }, answer);
                    return true;
                });
            }
        }
    }

    @Test
    void cutAnswersEndByTheDeadlineOrWithTheConnection() throws Exception {
        String cut = "VALUE k 0 5\r\nab";
        try (Memcached.Impostor server = new Memcached.Impostor(cut, false);
                MemcacheClient client = MemcacheClient.connect(server.address())) {
            Soon.within(500, () -> {
                MemcacheClient hasty = client.withTimeout(Duration.ofMillis(50));
                assertThrows(DeadlineExceeded.class, () -> hasty.get("k"));
                return true;
            });
        }
        try (Memcached.Impostor server = new Memcached.Impostor(cut, true);
                MemcacheClient client = MemcacheClient.connect(server.address())) {
            assertThrows(Disconnected.class, () -> client.get("k"));
        }
    }

    @Test
    void aServerThatAnswersAByteAtATimeDoesNotHoldTheCaller() throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                MemcacheClient client = MemcacheClient.builder()
                        .servers("127.0.0.1:" + listener.getLocalPort()).build()) {
            Thread server = new Thread(() -> drip(listener));
            server.setDaemon(true);
            server.start();
            client.connectAll();
            Soon.within(1_000, () -> {
                MemcacheClient hasty = client.withTimeout(Duration.ofMillis(50));
                assertThrows(DeadlineExceeded.class, () -> hasty.get("k"));
                return true;
            });
        }
    }

    /** Greets, then sends a value of 1 MiB that takes some seconds. */
    private static void drip(ServerSocket listener) {
        try (Socket socket = listener.accept()) {
            socket.setTcpNoDelay(true);
            socket.getInputStream().read(new byte[100]);
            socket.getOutputStream().write("MN\r\n".getBytes());
            socket.getInputStream().read(new byte[100]);
            socket.getOutputStream().write("VALUE k 0 1048576\r\n".getBytes());
            for (int at = 0; at < 1 << 20; at++) {
                socket.getOutputStream().write('x');
            }
        } catch (IOException ended) {
            // The client left.
        }
    }
}
