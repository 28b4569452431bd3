package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A memcached that asks for a user and a password ({@code -Y}). */
@Timeout(60)
class CredentialsTest {
    @TempDir
    Path folder;

    private Memcached server() throws Exception {
        Path users = folder.resolve("users");
        Files.writeString(users, "ada:secret\ngrace:another\n");
        return Memcached.unix("-Y", users.toString());
    }

    @Test
    void aUserWithThePasswordMayDoEverything() throws Exception {
        for (Dialect dialect : Dialect.values()) {
            try (Memcached server = server();
                    MemcacheClient client = server.settings().credentials("ada", "secret")
                            .dialect(dialect).build()) {
                OperationsTest.every(client);
                // Each connection logs in.
                server.start();
                assertNull(client.get("a"));
            }
        }
    }

    @Test
    void othersGetATypedErrorWithoutThePasswordInIt() throws Exception {
        try (Memcached server = server()) {
            ClientBuilder mistaken = server.settings().credentials("ada", "mistaken");
            for (ClientBuilder settings : List.of(server.settings(), mistaken)) {
                for (Dialect dialect : Dialect.values()) {
                    try (MemcacheClient client = settings.dialect(dialect).build()) {
                        NotAuthenticated error =
                                assertThrows(NotAuthenticated.class, () -> client.get("k"));
                        assertFalse(error.getMessage().contains("mistaken"), error.getMessage());
                        assertFalse(error.mayHaveHappened());
                    }
                }
            }
        }
    }

    @Test
    void aServerThatAsksForNothingKeepsNothing() throws Exception {
        try (Memcached server = Memcached.unix();
                MemcacheClient client = server.settings().credentials("ada", "secret").build()) {
            client.set("k", "v", Expiry.NEVER).await();
            assertNull(client.get("stadium-memcache-login"));
        }
    }

    @Test
    void aLoginThatNoServerCanExpressIsRefused() {
        assertEquals("set stadium-memcache-login 0 -1 10\r\nada secret\r\n",
                new String(Credentials.command("ada", "secret"), UTF_8));
        String[][] wrong = {{"", "p"}, {"u", ""}, {"u", "p q"}, {"a b", "p"}, {"a:b", "p"},
            {"a", "p\r\nflush_all"}, {"u", "p".repeat(250)}};
        for (String[] one : wrong) {
            assertThrows(IllegalArgumentException.class,
                    () -> MemcacheClient.builder().credentials(one[0], one[1]), one[0]);
        }
        MemcacheClient.builder().credentials("u", "p".repeat(249));
    }
}
