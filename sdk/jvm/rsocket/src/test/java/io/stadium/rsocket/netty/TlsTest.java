package io.stadium.rsocket.netty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.concurrent.ExecutionException;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** TLS with a certificate that keytool makes. */
@Timeout(120)
class TlsTest {
    private static final char[] PASSWORD = "loopback".toCharArray();

    private static KeyStore keys(Path folder) throws Exception {
        Path file = folder.resolve("keys.p12");
        Process keytool = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                        "-genkeypair", "-alias", "server", "-keyalg", "EC", "-dname",
                        "CN=localhost",
                        "-ext", "SAN=dns:localhost,ip:127.0.0.1", "-storetype", "PKCS12",
                        "-keystore", file.toString(), "-storepass", new String(PASSWORD))
                .inheritIO()
                .start();
        assertEquals(0, keytool.waitFor());
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            keys.load(in, PASSWORD);
        }
        return keys;
    }

    @Test
    void requestsTravelInTls(@TempDir Path folder) throws Exception {
        KeyStore keys = keys(folder);
        KeyManagerFactory own =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys, PASSWORD);
        TrustManagerFactory trusted =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(keys);
        SslContext server = SslContextBuilder.forServer(own).build();
        SslContext client = SslContextBuilder.forClient().trustManager(trusted).build();
        try (EventLoops loops = EventLoops.start(1)) {
            InetSocketAddress address = new RSocketServer(loops)
                    .tls(server).handlers(Echoes::new).bind(SocketsTest.ANY).get().address();
            RSocket rsocket = new RSocketClient(loops).tls(client).connect(address).get();
            byte[] data = new byte[300_000];
            assertArrayEquals(data, rsocket.requestResponse(null, data).get());
            // A client that does not trust the server, and one without TLS.
            SslContext stranger = SslContextBuilder.forClient().build();
            RSocketClient distrusts = new RSocketClient(loops).tls(stranger);
            assertThrows(ExecutionException.class, () -> distrusts.connect(address).get());
            RSocket plain = new RSocketClient(loops).connect(address).get();
            assertThrows(ExecutionException.class, () -> plain.requestResponse(null, data).get());
        }
    }
}
