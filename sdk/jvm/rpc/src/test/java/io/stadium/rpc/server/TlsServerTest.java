package io.stadium.rpc.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.handler.ssl.ClientAuth;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.SetupOptions;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A service in TLS sees the certificate that its caller shows. */
@Timeout(300)
class TlsServerTest {
    private static final String PASSWORD = "loopback";

    @Test
    void aFunctionSeesTheCallersCertificate(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("keys.p12");
        Process keytool = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair", "-alias", "server", "-keyalg", "EC", "-dname", "CN=localhost",
                "-ext", "SAN=dns:localhost,ip:127.0.0.1", "-storetype", "PKCS12", "-keystore",
                file.toString(), "-storepass", PASSWORD).inheritIO().start();
        assertEquals(0, keytool.waitFor());
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(file)) {
            keys.load(in, PASSWORD.toCharArray());
        }
        KeyManagerFactory own =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        own.init(keys, PASSWORD.toCharArray());
        TrustManagerFactory trusted =
                TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(keys);
        SslContext tls = SslContextBuilder.forServer(own).trustManager(trusted)
                .clientAuth(ClientAuth.OPTIONAL).build();
        SslContext known = SslContextBuilder.forClient().keyManager(own).trustManager(trusted)
                .build();
        SslContext unknown = SslContextBuilder.forClient().trustManager(trusted).build();
        try (RpcServer server = ServerTest.on(ServerTest.service().inline(
                ServerTest.unary("Who"), (call, request) -> {
                    assertTrue(call.peer().toString().contains("127.0.0.1"));
                    return Caller.bytes(call.certificate()
                            .map(shown -> shown.getSubjectX500Principal().getName())
                            .orElse("nobody"));
                })).tls(tls).start();
                Caller one = new Caller(server, Config.DEFAULT, SetupOptions.DEFAULT, known);
                Caller other = new Caller(server, Config.DEFAULT, SetupOptions.DEFAULT, unknown)) {
            assertEquals("CN=localhost", one.answer("test/Who", ""));
            assertEquals("nobody", other.answer("test/Who", ""));
        }
    }
}
