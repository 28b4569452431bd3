package io.stadium.rpc.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.handler.ssl.SslHandler;
import io.stadium.rpc.server.Counts.Figure;
import io.stadium.rpc.wire.RequestMetadata;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.Setup;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.metadata.WellKnownMimeType;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.RSocketHandler;
import java.net.SocketAddress;
import java.security.cert.Certificate;
import java.security.cert.X509Certificate;
import java.util.ArrayDeque;
import java.util.Optional;
import javax.net.ssl.SSLPeerUnverifiedException;

/** A client's connection: its SETUP, its leases, and the answers that wait until it takes more. */
final class ServerConnection implements RSocketHandler {
    private static final String ROUTING = WellKnownMimeType.name(WellKnownMimeType.ROUTING);

    private final RpcServer server;
    private ServerLoop loop;
    private RSocket rsocket;
    private SocketAddress peer;
    private boolean isComposite = true;
    private boolean isPeer;
    private boolean isLeased;

    /** Requests since the last lease. */
    private int used;

    /**
     * Calls whose answers wait until the client takes more. There are no more of them than calls
     * under way.
     */
    private final ArrayDeque<Work> deferred = new ArrayDeque<>(0);

    ServerConnection(RpcServer server) {
        this.server = server;
    }

    RSocket rsocket() {
        return rsocket;
    }

    boolean isComposite() {
        return isComposite;
    }

    /** Whether pushes of load are sent. */
    boolean isPeer() {
        return isPeer;
    }

    boolean isLeased() {
        return isLeased;
    }

    int takeUsed() {
        int requests = used;
        used = 0;
        return requests;
    }

    boolean isWritable() {
        return deferred.isEmpty() && rsocket.isWritable();
    }

    /** Has the call notified when the client takes more. */
    void defer(Work work) {
        deferred.addLast(work);
        if (deferred.size() == 1) {
            // The turn's bytes may all leave with it, and then writability does not change.
            loop.executeLater(this::retryDeferred);
        }
    }

    /** Goes on with the calls that wait, if the client takes more. */
    void retryDeferred() {
        // As many as wait now: each may be put off again.
        for (int left = deferred.size(); left > 0 && rsocket.isWritable(); left--) {
            deferred.pollFirst().writable();
        }
    }

    SocketAddress peer() {
        return peer;
    }

    Optional<X509Certificate> certificate() {
        SslHandler tls = rsocket.channel().pipeline().get(SslHandler.class);
        if (tls == null) {
            return Optional.empty();
        }
        try {
            Certificate[] shown = tls.engine().getSession().getPeerCertificates();
            return shown.length > 0 && shown[0] instanceof X509Certificate certificate
                    ? Optional.of(certificate) : Optional.empty();
        } catch (SSLPeerUnverifiedException e) {
            return Optional.empty();
        }
    }

    /** Any thread: runs a task on the connection's loop. */
    void execute(Runnable task) {
        loop.execute(task);
    }

    @Override
    public void onSetup(RSocket connection, Setup setup) {
        rsocket = connection;
        peer = connection.channel().remoteAddress();
        loop = server.loop(connection.channel().eventLoop());
        if (loop.isQuiescing()) {
            connection.refuse(ErrorCode.REJECTED_SETUP, "the instance quiesces");
            return;
        }
        isComposite = !ROUTING.equals(setup.metadataMimeType());
        isPeer = isComposite && setup.metadata() != null
                && RequestMetadata.isPeer(Unpooled.wrappedBuffer(setup.metadata()));
        isLeased = setup.lease();
        loop.add(this);
        connection.accept();
        if (isLeased) {
            connection.grantLease(ServerLoop.LEASE_MS, ServerLoop.FIRST_LEASE);
        }
    }

    @Override
    public void onRequest(
            RSocket connection, int streamId, Interaction interaction, int initialRequestN,
            Payload payload) {
        used++;
        loop.dispatcher().request(this, streamId, interaction, initialRequestN, payload);
    }

    @Override
    public void onWritabilityChanged(RSocket connection) {
        retryDeferred();
    }

    void pushLoad(float factor, boolean isQuiescing) {
        ByteBuf metadata = Unpooled.buffer(40);
        RequestMetadata.writeLoad(metadata, factor, isQuiescing);
        rsocket.metadataPush(metadata);
    }

    @Override
    public void onClosed(RSocket connection, Closed closed) {
        server.closed();
        deferred.clear();
        if (loop != null) {
            loop.remove(this);
            if (closed.reason() == Closed.Reason.SLOW_PEER) {
                loop.counts().add(Figure.CUT_SLOW, 1);
            }
        }
    }
}
