package io.stadium.rpc.server;

import io.netty.channel.EventLoop;
import io.netty.util.NetUtil;
import io.stadium.rpc.discovery.InstanceValue;
import io.stadium.rpc.discovery.Place;
import io.stadium.rpc.server.Counts.Figure;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.LeaseMode;
import io.stadium.rsocket.netty.EventLoops;
import io.stadium.rsocket.netty.RSocketServer;
import io.stadium.rsocket.netty.TransportOptions;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A server of services. It serves until {@link #quiesce} or {@link #close}, or until an operator
 * calls {@code NAME/quiesce}.
 *
 * <p>All methods may be called by any thread.
 */
public final class RpcServer implements AutoCloseable {
    /** Between two reports of the load factor to discovery, in milliseconds. */
    private static final int REPORT_MS = 1_000;

    /** Longest that discovery may take to forget the instance. */
    private static final Duration WITHDRAW_WITHIN = Duration.ofSeconds(2);

    /** Between two looks at what is left of a server that quiesces, in milliseconds. */
    private static final int LOOK_MS = 5;

    /** Bytes that may wait for a client beside one payload. */
    private static final int OUTGOING_BYTES = 16 * 1024 * 1024;

    private final RpcServerBuilder settings;
    private final Route.Table routes = new Route.Table();
    private final Map<EventLoop, ServerLoop> loops = new ConcurrentHashMap<>();
    private final Map<ServerLoop, Long> unfinished = new ConcurrentHashMap<>();
    private final AtomicInteger connections = new AtomicInteger();
    private final AtomicLong refused = new AtomicLong();
    private final List<RSocketServer.Bound> bound = new ArrayList<>();
    private final List<InetSocketAddress> addresses = new ArrayList<>();
    private final List<Registrar.Registration> registrations = new ArrayList<>();
    private final CompletableFuture<Integer> ended = new CompletableFuture<>();
    private final AtomicBoolean isQuiescing = new AtomicBoolean();
    private final AtomicBoolean isStopping = new AtomicBoolean();
    private final long startNanos = System.nanoTime();
    private final EventLoops eventLoops;
    private final Workers workers;
    private final Workers streamWorkers;
    private final ScheduledExecutorService steward;

    RpcServer(RpcServerBuilder settings) {
        this.settings = settings;
        for (int nth = 0; nth < settings.services.size(); nth++) {
            Service service = settings.services.get(nth);
            for (Service.Served served : service.served()) {
                routes.add(served, nth, false, service.interceptors());
            }
        }
        Traits.add(this, settings.services, routes);
        eventLoops = settings.busyPollUs == 0 ? EventLoops.start(settings.loops)
                : EventLoops.startSpinning(settings.loops, settings.busyPollUs);
        if (settings.virtualThreads) {
            workers = Workers.virtual(settings.concurrencyMax * settings.loops);
            streamWorkers = Workers.virtual(settings.streamThreads);
        } else {
            int threads = settings.blockingThreads == 0 ? 4 : settings.blockingThreads;
            // As many tasks as the limits of all loops let in.
            workers = Workers.platform(
                    "stadium-blocking", threads, settings.concurrencyMax * settings.loops);
            streamWorkers = Workers.platform("stadium-stream", settings.streamThreads, 0);
        }
        steward = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "stadium-steward");
            thread.setDaemon(true);
            return thread;
        });
    }

    /**
     * Begins with the default settings.
     *
     * @return a builder
     */
    public static RpcServerBuilder builder() {
        return new RpcServerBuilder();
    }

    RpcServer start() throws IOException {
        Config config = Config.builder()
                .payloadBytesMax(settings.payloadBytesMax)
                .streamsMax(settings.streamsMax)
                .lease(settings.leases ? LeaseMode.GRANT : LeaseMode.OFF)
                .build();
        TransportOptions transport = new TransportOptions(
                TransportOptions.DEFAULT.readingStopsAt(),
                (int) Math.min((long) OUTGOING_BYTES + settings.payloadBytesMax,
                        Integer.MAX_VALUE),
                settings.readStallMs);
        RSocketServer server = new RSocketServer(eventLoops)
                .config(config)
                .transport(transport)
                .tls(settings.tls)
                .accepting(this::accepts)
                .handlers(() -> new ServerConnection(this));
        try {
            for (InetSocketAddress address : settings.listen) {
                RSocketServer.Bound one = server.bind(address).join();
                bound.add(one);
                addresses.add(one.address());
            }
            register();
        } catch (CompletionException e) {
            stop();
            throw e.getCause() instanceof IOException cause ? cause : new IOException(e.getCause());
        } catch (RuntimeException e) {
            stop();
            throw e;
        }
        return this;
    }

    private void register() {
        if (settings.registrar == null) {
            return;
        }
        InetSocketAddress address =
                settings.advertise == null ? addresses.get(0) : settings.advertise;
        if (address.isUnresolved() || address.getAddress().isAnyLocalAddress()) {
            throw new IllegalArgumentException(
                    address + " says nothing to others: set the address to advertise");
        }
        InstanceValue value = new InstanceValue(
                0, settings.zone == null ? "" : settings.zone, settings.weight,
                InstanceValue.State.SERVING);
        String text = NetUtil.toSocketAddressString(address);
        for (Service service : settings.services) {
            Place place = Place.of(service.version(), text).orElseThrow(
                    () -> new IllegalArgumentException("not an address to register: " + text));
            registrations.add(settings.registrar.register(service.name(), place, value));
        }
        steward.scheduleAtFixedRate(this::reportLoad, REPORT_MS, REPORT_MS, TimeUnit.MILLISECONDS);
    }

    private void reportLoad() {
        if (!isQuiescing.get()) {
            long load = counts().stream()
                    .mapToLong(counts -> counts.figure(Figure.LOAD_THOUSANDTHS)).max().orElse(0);
            registrations.forEach(registration -> registration.load(load / 1_000f));
        }
    }

    /** Whether one more connection is taken; then {@link #closed} follows. */
    private boolean accepts() {
        if (connections.incrementAndGet() > settings.connectionsMax) {
            connections.decrementAndGet();
            refused.incrementAndGet();
            return false;
        }
        return true;
    }

    /** A connection has ended. */
    void closed() {
        connections.decrementAndGet();
    }

    RpcServerBuilder settings() {
        return settings;
    }

    Route.Table routes() {
        return routes;
    }

    Workers workers() {
        return workers;
    }

    Workers streamWorkers() {
        return streamWorkers;
    }

    /** The server's half of an event loop; called on that loop. */
    ServerLoop loop(EventLoop eventLoop) {
        ServerLoop loop = loops.get(eventLoop);
        if (loop == null) {
            loop = new ServerLoop(this, eventLoop);
            loops.put(eventLoop, loop);
            if (isQuiescing.get()) {
                loop.quiesce();
            }
        }
        return loop;
    }

    List<Counts> counts() {
        return loops.values().stream().map(ServerLoop::counts).toList();
    }

    long sum(Figure figure) {
        return loops.values().stream().mapToLong(loop -> loop.counts().figure(figure)).sum();
    }

    long uptimeMs() {
        return (System.nanoTime() - startNanos) / 1_000_000;
    }

    long refusedConnections() {
        return refused.get();
    }

    /**
     * Notes what a loop's connections hold that is unfinished. Returns how many bytes too many the
     * loop's connections hold: all, if it is the one that holds most.
     */
    long overUnfinished(ServerLoop loop, long held) {
        unfinished.put(loop, held);
        long sum = 0;
        long most = 0;
        for (long one : unfinished.values()) {
            sum += one;
            most = Math.max(most, one);
        }
        return held == most ? sum - settings.unfinishedBytesMax : 0;
    }

    /**
     * The addresses that are listened on, in the order of the settings.
     *
     * @return the addresses, with the ports that were bound
     */
    public List<InetSocketAddress> addresses() {
        return List.copyOf(addresses);
    }

    /**
     * The first address that is listened on.
     *
     * @return the address
     */
    public InetSocketAddress address() {
        return addresses.get(0);
    }

    /**
     * Whether the server leaves.
     *
     * @return whether {@link #quiesce} or {@link #close} was called, by the program or by an
     *     operator
     */
    public boolean isQuiescing() {
        return isQuiescing.get();
    }

    /**
     * The end of the server.
     *
     * @return completed with the number of connections that were left and closed
     */
    public CompletableFuture<Integer> ended() {
        return ended.copy();
    }

    /**
     * Leaves. The services leave discovery, no further clients are accepted, and the clients are
     * notified. Calls that have begun are finished; new ones are served for another half a second,
     * in which clients learn of it, and then answered Busy. The server ends when its clients have
     * gone and its calls have ended, or when the time is over. A second call changes nothing.
     *
     * @param within the longest time until the server has ended
     * @return as {@link #ended}
     */
    public CompletableFuture<Integer> quiesce(Duration within) {
        if (isQuiescing.compareAndSet(false, true)) {
            long until = System.nanoTime() + within.toNanos();
            steward.execute(() -> leave(until));
        }
        return ended();
    }

    private void leave(long until) {
        Dispatcher.LOG.info("RPC server quiesces: addresses={}", addresses);
        for (Registrar.Registration registration : registrations) {
            long left = Math.max(until - System.nanoTime(), 0);
            Duration within = Duration.ofNanos(Math.min(left, WITHDRAW_WITHIN.toNanos()));
            if (!registration.withdraw(within)) {
                Dispatcher.LOG.warn(
                        "Discovery did not confirm in time that the instance leaves: addresses={}",
                        addresses);
            }
        }
        bound.forEach(RSocketServer.Bound::close);
        loops.values().forEach(loop -> loop.execute(loop::quiesce));
        AtomicBoolean isOver = new AtomicBoolean();
        ScheduledFuture<?>[] look = new ScheduledFuture<?>[1];
        look[0] = steward.scheduleWithFixedDelay(() -> {
            boolean isIdle = connections.get() == 0 && sum(Figure.INFLIGHT) == 0;
            if ((isIdle || System.nanoTime() - until >= 0) && isOver.compareAndSet(false, true)) {
                look[0].cancel(false);
                // Not on this thread, which ends with the server.
                new Thread(this::stop, "stadium-end").start();
            }
        }, 0, LOOK_MS, TimeUnit.MILLISECONDS);
    }

    /**
     * Ends the server now: calls under way are lost to their callers. {@link #quiesce} loses none.
     */
    @Override
    public void close() {
        isQuiescing.set(true);
        stop();
        ended.join();
    }

    private void stop() {
        if (!isStopping.compareAndSet(false, true)) {
            return;
        }
        int left = connections.get();
        steward.shutdown();
        try {
            for (Registrar.Registration registration : registrations) {
                // Nothing happens where it was withdrawn.
                registration.withdraw(Duration.ofMillis(500));
            }
        } finally {
            bound.forEach(RSocketServer.Bound::close);
            loops.values().forEach(loop -> loop.execute(loop::closeAll));
            eventLoops.close();
            workers.close();
            streamWorkers.close();
            ended.complete(left);
        }
    }
}
