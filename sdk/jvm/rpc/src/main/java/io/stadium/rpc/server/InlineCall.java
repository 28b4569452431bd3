package io.stadium.rpc.server;

import io.stadium.rpc.wire.RequestMetadata;
import io.stadium.rsocket.metadata.Authentication;
import io.stadium.rsocket.metadata.Tracing;
import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Optional;

/** The call of an inline function or an interceptor; one object of a loop shows one at a time. */
final class InlineCall implements Call {
    private final RequestMetadata metadata;
    private ServerConnection connection;
    private Route route;
    private long leftMs;

    InlineCall(RequestMetadata metadata) {
        this.metadata = metadata;
    }

    /** Shows another request, whose metadata has been read. */
    InlineCall show(ServerConnection connection, Route route, long leftMs) {
        this.connection = connection;
        this.route = route;
        this.leftMs = leftMs;
        return this;
    }

    /** Shows nothing. */
    void clear() {
        route = null;
        connection = null;
    }

    private void check() {
        if (route == null) {
            throw new IllegalStateException("the call of an inline function has ended with it");
        }
    }

    @Override
    public String route() {
        check();
        return route.name;
    }

    @Override
    public Duration timeLeft() {
        check();
        return Duration.ofMillis(leftMs);
    }

    @Override
    public boolean isCancelled() {
        check();
        return false;
    }

    @Override
    public void onCancel(Runnable task) {
        check();
    }

    @Override
    public Optional<byte[]> key() {
        check();
        return Optional.ofNullable(metadata.key());
    }

    @Override
    public Optional<Authentication> authentication() {
        check();
        return Optional.ofNullable(metadata.authentication());
    }

    @Override
    public Optional<Tracing> tracing() {
        check();
        return Optional.ofNullable(metadata.tracing());
    }

    @Override
    public Optional<byte[]> entry(String mimeType) {
        check();
        return Optional.ofNullable(metadata.entry(mimeType));
    }

    @Override
    public byte[] metadata() {
        check();
        return metadata.bytes();
    }

    @Override
    public SocketAddress peer() {
        check();
        return connection.peer();
    }

    @Override
    public Optional<X509Certificate> certificate() {
        check();
        return connection.certificate();
    }
}
