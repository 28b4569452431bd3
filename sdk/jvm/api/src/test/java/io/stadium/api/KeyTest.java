package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unavailable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** API keys: their sources, that they rotate and end, and are shown nowhere. */
@Timeout(120)
class KeyTest {
    private static final String SECRET = "sk_topsecret";

    @TempDir
    Path folder;

    @Test
    void aKeyIsShownNowhere() throws Exception {
        Path file = Files.writeString(folder.resolve("worker.key"), SECRET + "\n");
        List<ApiKey> keys =
                List.of(ApiKey.of(SECRET), ApiKey.file(file), ApiKey.from(() -> " " + SECRET));
        for (ApiKey key : keys) {
            assertEquals(SECRET, key.read());
            assertFalse(key.toString().contains(SECRET));
        }
        assertTrue(keys.get(1).toString().contains("worker.key"));
        for (String wrong : List.of("", " ", "two words", "k\u00e4se-geheim", "line\nbreak")) {
            String shown = assertThrows(IllegalArgumentException.class, () -> ApiKey.of(wrong))
                    .getMessage();
            assertFalse(!wrong.isBlank() && shown.contains(wrong), shown);
            assertThrows(IllegalStateException.class, () -> ApiKey.from(() -> wrong).read());
        }
        assertThrows(IllegalStateException.class,
                () -> ApiKey.file(folder.resolve("none")).read());
        assertThrows(IllegalStateException.class, () -> ApiKey.environment("STADIUM_NO_KEY"));
        assertThrows(IllegalArgumentException.class,
                () -> Stadium.builder().addresses("127.0.0.1:1").start());
    }

    @Test
    void aSourceThatFailsLaterLeavesTheKey() throws Exception {
        Path file = Files.writeString(folder.resolve("key"), "one");
        ApiKey key = ApiKey.file(file);
        assertEquals("one", key.read());
        Files.delete(file);
        assertFalse(key.hasChangedJustNow());
        Files.writeString(file, "");
        assertFalse(key.hasChangedJustNow());
        assertEquals("one", key.read());
        Files.writeString(file, "two");
        assertTrue(key.hasChangedJustNow());
        assertEquals("two", key.read());
        AtomicInteger asked = new AtomicInteger();
        ApiKey counted = ApiKey.from(() -> "key" + asked.incrementAndGet());
        for (int nth = 0; nth < 1_000; nth++) {
            counted.read();
        }
        assertTrue(asked.get() < 100, "asked " + asked);
    }

    @Test
    void aKeyThatIsRevokedIsATypedErrorForAllCallsAndNothingHangs() throws Exception {
        TestServer server = TestServer.shared();
        TestServer.Key key = server.makeKey("--role", "worker");
        try (Stadium stadium = server.connect(ApiKey.of(key.secret()))) {
            Queue queue = stadium.queue("revoked");
            queue.put("x");
            queue.reserve(1);
            List<CompletableFuture<List<Job>>> waiting = new ArrayList<>();
            for (int nth = 0; nth < 3; nth++) {
                waiting.add(queue.async().reserve(
                        ReserveOptions.upTo(1).waiting(Duration.ofSeconds(2))));
            }
            server.revoke(key);
            Soon.until("the key is refused", () -> {
                try {
                    queue.put("y");
                    return false;
                } catch (Rejected e) {
                    assertEquals("NODE-009", e.code());
                    assertFalse(e.toString().contains(key.secret()));
                    return true;
                }
            });
            List<CompletableFuture<Placed>> puts = new ArrayList<>();
            for (int nth = 0; nth < 100; nth++) {
                puts.add(queue.async().put("z"));
            }
            for (CompletableFuture<Placed> put : puts) {
                ExecutionException refused = assertThrows(ExecutionException.class,
                        () -> put.get(Soon.SECONDS, TimeUnit.SECONDS));
                assertEquals("NODE-009", ((Rejected) refused.getCause()).code());
            }
            assertEquals("NODE-009",
                    Soon.code(() -> stadium.wallets().balance("a", "EUR")));
            for (CompletableFuture<List<Job>> one : waiting) {
                Object end = one.handle((jobs, failure) -> failure == null ? jobs : failure)
                        .get(Soon.SECONDS, TimeUnit.SECONDS);
                assertTrue(end instanceof List || end instanceof RpcException, end::toString);
            }
        }
    }

    @Test
    void aKeyThatExpiresAndOneWithoutTheRightAreRefused() throws Exception {
        TestServer server = TestServer.shared();
        TestServer.Key short1 = server.makeKey("--role", "worker", "--expires", "1s");
        try (Stadium stadium = server.connect(ApiKey.of(short1.secret()))) {
            Soon.until("the key has expired", () -> {
                try {
                    stadium.queue("expires").put("x");
                    return false;
                } catch (Rejected e) {
                    return e.code().equals("NODE-009");
                }
            });
        }
        TestServer.Key own = server.makeKey("--grant", "queue.put:mine");
        try (Stadium stadium = server.connect(ApiKey.of(own.secret()))) {
            stadium.queue("mine").put("x");
            Rejected refused =
                    assertThrows(Rejected.class, () -> stadium.queue("yours").put("x"));
            assertEquals("NODE-009", refused.code());
            assertTrue(refused.reason().contains("queue.put:yours"), refused.reason());
        }
    }

    @Test
    void aKeyIsRotatedUnderAClientAndAWorker() throws Exception {
        TestServer server = TestServer.shared();
        TestServer.Key before = server.makeKey("--role", "worker");
        TestServer.Key after = server.makeKey("--role", "worker");
        Path file = Files.writeString(folder.resolve("rotated"), before.secret());
        try (Stadium stadium = server.connect(ApiKey.file(file));
                Worker worker = stadium.worker("rotated").lease(Duration.ofSeconds(1))
                        .start(job -> { })) {
            stadium.queue("rotated").put("x");
            Soon.until("the first is settled", () -> worker.counts().settled() == 1);
            Files.writeString(file, after.secret());
            server.revoke(before);
            // A call just after the revocation may still show the old key: it is rejected once.
            Soon.until("the new key is used", () -> {
                try {
                    stadium.queue("rotated").put("y");
                    return worker.counts().settled() >= 2;
                } catch (Rejected e) {
                    return false;
                }
            });
            worker.check();
        }
    }

    @Test
    void aServerThatIsAwayIsAnErrorInTime() {
        try (Stadium stadium = Stadium.builder().addresses("127.0.0.1:1").key(ApiKey.of("k"))
                .deadline(Duration.ofSeconds(2)).start()) {
            long began = System.nanoTime();
            assertThrows(Unavailable.class, () -> stadium.queue("away").put("x"));
            assertTrue(System.nanoTime() - began < TimeUnit.SECONDS.toNanos(10));
        }
    }
}
