package io.stadium.rpc.server;

import io.netty.buffer.Unpooled;
import io.stadium.rpc.wire.RequestMetadata;
import io.stadium.rsocket.metadata.Authentication;
import io.stadium.rsocket.metadata.Tracing;
import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A call that outlives the turn in which its request was read. */
final class StartedCall implements Call {
    private static final Logger LOG = LoggerFactory.getLogger(StartedCall.class);

    private final ServerConnection connection;
    private final Route route;
    private final byte[] metadata;
    private final boolean isComposite;

    /** Of {@link System#nanoTime}; {@link Long#MAX_VALUE} where the call has no deadline. */
    private final long deadlineNanos;

    private volatile boolean isCancelled;

    /** Guarded by this object; {@code null} when the call is over. */
    private List<Runnable> tasks = new ArrayList<>(0);

    StartedCall(
            ServerConnection connection, Route route, byte[] metadata, boolean isComposite,
            long deadlineNanos) {
        this.connection = connection;
        this.route = route;
        this.metadata = metadata;
        this.isComposite = isComposite;
        this.deadlineNanos = deadlineNanos;
    }

    /** The call is over, cancelled or not. */
    void end(boolean cancelled) {
        List<Runnable> due;
        synchronized (this) {
            due = cancelled ? tasks : null;
            tasks = null;
            isCancelled = cancelled;
        }
        if (due != null) {
            due.forEach(this::run);
        }
    }

    private void run(Runnable task) {
        try {
            task.run();
        } catch (Throwable e) {
            LOG.error("A task of a cancelled call failed: route={}", route.name, e);
        }
    }

    @Override
    public String route() {
        return route.name;
    }

    @Override
    public Duration timeLeft() {
        if (deadlineNanos == Long.MAX_VALUE) {
            return Duration.ofNanos(Long.MAX_VALUE);
        }
        return Duration.ofNanos(Math.max(deadlineNanos - System.nanoTime(), 0));
    }

    @Override
    public boolean isCancelled() {
        return isCancelled
                || deadlineNanos != Long.MAX_VALUE && deadlineNanos - System.nanoTime() <= 0;
    }

    @Override
    public void onCancel(Runnable task) {
        synchronized (this) {
            if (tasks != null) {
                tasks.add(task);
                return;
            }
        }
        if (isCancelled) {
            connection.execute(() -> run(task));
        }
    }

    /** A view of the metadata: functions of several threads may ask at once. */
    private RequestMetadata view() {
        RequestMetadata view = new RequestMetadata();
        view.read(Unpooled.wrappedBuffer(metadata), 0, metadata.length, isComposite);
        return view;
    }

    @Override
    public Optional<byte[]> key() {
        return Optional.ofNullable(view().key());
    }

    @Override
    public Optional<Authentication> authentication() {
        return Optional.ofNullable(view().authentication());
    }

    @Override
    public Optional<Tracing> tracing() {
        return Optional.ofNullable(view().tracing());
    }

    @Override
    public Optional<byte[]> entry(String mimeType) {
        return Optional.ofNullable(view().entry(mimeType));
    }

    @Override
    public byte[] metadata() {
        return metadata.clone();
    }

    @Override
    public SocketAddress peer() {
        return connection.peer();
    }

    @Override
    public Optional<X509Certificate> certificate() {
        return connection.certificate();
    }
}
