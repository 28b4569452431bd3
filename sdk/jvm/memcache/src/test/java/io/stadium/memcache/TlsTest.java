package io.stadium.memcache;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A memcached with TLS, whose certificate this test makes. */
@Timeout(60)
class TlsTest {
    private static final char[] PASSWORD = "changeit".toCharArray();

    @TempDir
    Path folder;

    private static String pem(String kind, byte[] bytes) {
        return "-----BEGIN " + kind + "-----\n" + Base64.getMimeEncoder().encodeToString(bytes)
                + "\n-----END " + kind + "-----\n";
    }

    /** A certificate of its own for 127.0.0.1, as files for memcached and as a context for us. */
    private SSLContext certificate() throws Exception {
        Path store = folder.resolve("store");
        Process keytool = new ProcessBuilder(System.getProperty("java.home") + "/bin/keytool",
                "-genkeypair", "-alias", "a", "-keyalg", "EC", "-dname", "CN=memcached", "-ext",
                "SAN=IP:127.0.0.1", "-storetype", "PKCS12", "-keystore", store.toString(),
                "-storepass", new String(PASSWORD)).redirectErrorStream(true).start();
        String output = new String(keytool.getInputStream().readAllBytes());
        assertTrue(keytool.waitFor(Soon.SECONDS, TimeUnit.SECONDS) && keytool.exitValue() == 0,
                output);
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(store)) {
            keys.load(in, PASSWORD);
        }
        Key key = keys.getKey("a", PASSWORD);
        Certificate certificate = keys.getCertificate("a");
        Files.writeString(folder.resolve("key.pem"), pem("PRIVATE KEY", key.getEncoded()));
        Files.writeString(folder.resolve("cert.pem"),
                pem("CERTIFICATE", certificate.getEncoded()));
        KeyStore trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("a", certificate);
        TrustManagerFactory trust =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }

    @Test
    void operationsGoOverTlsAndCertificatesAreChecked() throws Exception {
        SSLContext context = certificate();
        try (Memcached server = Memcached.tcp("-Z", "-o", "ssl_chain_cert="
                + folder.resolve("cert.pem") + ",ssl_key=" + folder.resolve("key.pem"));
                MemcacheClient client = server.settings().tls(context)
                        .connectTimeout(Duration.ofSeconds(5)).build()) {
            Soon.until("it answers", () -> {
                client.connectAll();
                return true;
            });
            byte[] large = new byte[900_000];
            for (int at = 0; at < large.length; at++) {
                large[at] = (byte) (at / 11);
            }
            client.set("large", large, Expiry.NEVER).ignore();
            assertArrayEquals(large, client.get("large").bytes());
            Soon.together(8, thread -> {
                for (int at = 0; at < 300; at++) {
                    String key = thread + ":" + at;
                    client.set(key, key, Expiry.NEVER).ignore();
                    assertEquals(key, client.get(key).utf8());
                }
            });

            // The standard trust does not know the certificate; and without TLS nobody answers.
            try (MemcacheClient other = server.settings().tls(SSLContext.getDefault()).build();
                    MemcacheClient plain = server.settings()
                            .connectTimeout(Duration.ofMillis(100)).build()) {
                Disconnected error = assertThrows(Disconnected.class, () -> other.get("k"));
                assertTrue(error.getMessage().contains("PKIX"), error.getMessage());
                assertThrows(Disconnected.class, () -> plain.get("k"));
            }
            // The name of the server is checked.
            String named = server.address.replace("127.0.0.1", "localhost");
            try (MemcacheClient other = MemcacheClient.builder().servers(named).tls(context)
                    .build()) {
                Disconnected error = assertThrows(Disconnected.class, () -> other.get("k"));
                assertTrue(error.getMessage().contains("localhost"), error.getMessage());
            }

            server.kill();
            assertThrows(Disconnected.class, () -> client.get("large"));
        }
    }
}
