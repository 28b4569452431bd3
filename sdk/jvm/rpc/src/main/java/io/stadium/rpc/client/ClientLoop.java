package io.stadium.rpc.client;

import io.netty.channel.EventLoop;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.stadium.rpc.Busy;
import io.stadium.rpc.Cancelled;
import io.stadium.rpc.Explanation;
import io.stadium.rpc.Method;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unavailable;
import io.stadium.rpc.balance.Hashes;
import io.stadium.rpc.balance.RandomNumbers;
import io.stadium.rpc.discovery.Place;
import io.stadium.rpc.wire.CallMetadata;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.LeaseMode;
import io.stadium.rsocket.connection.SetupOptions;
import io.stadium.rsocket.netty.EventLoops;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.RSocketClient;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One event loop of a client: its thread owns its services, connections and calls.
 *
 * <p>Calls come from other threads through a bounded mailbox, with one wake-up for all that wait in
 * it. The clock is read once for each turn: a read of a connection, or a batch of the mailbox.
 */
final class ClientLoop {
    static final Logger LOG = LoggerFactory.getLogger(RpcClient.class);

    /**
     * Calls on their way to the loop, a power of two. At a million calls a second they wait for 65
     * ms; the next one is Busy.
     */
    private static final int MAILBOX_CALLS_MAX = 1 << 16;

    /** Calls of the mailbox that are begun before connections are read again. */
    private static final int CALLS_A_TURN = 1_024;

    /** Methods that a client calls: they are constants of programs. */
    private static final int ROUTES_MAX = 10_000;

    final int index;
    final Settings settings;
    final boolean hasListener;
    final TimerWheel wheel;
    final Dispatcher dispatcher;
    final CallEnds answers;
    final Broken broken;
    final RandomNumbers random;
    final Link.Turn turns = new Link.Turn(this);
    private final EventLoops loops;
    private final EventLoop thread;
    private final Config config;
    private final SetupOptions setup;
    private final Map<Method<?, ?>, Route> routes = new ConcurrentHashMap<>();

    /** The route that was used last: programs often call one method again and again. */
    private volatile Route lastRoute;

    private final Map<String, Service> services = new HashMap<>();
    private final Mailbox mailbox = new Mailbox(MAILBOX_CALLS_MAX);
    private final AtomicBoolean isDraining = new AtomicBoolean();
    private final Runnable drain = this::drain;
    private final Runnable onTimer = this::onTimer;

    /** Calls are refused; set once, on the loop. */
    volatile boolean isClosing;

    private long nowUs;
    private boolean isClockStale = true;

    /** Calls that were made on the loop and are being begun. */
    private int nested;

    private Future<?> timer;
    private long timerUs = TimerWheel.NEVER;

    ClientLoop(int index, Settings settings) {
        this.index = index;
        this.settings = settings;
        hasListener = settings.listener != ClientListener.NONE;
        wheel = new TimerWheel(nowUs());
        random = new RandomNumbers(Long.rotateLeft(settings.seed, 17) + index);
        dispatcher = new Dispatcher(this);
        answers = new CallEnds(this);
        broken = new Broken(this);
        config = Config.builder()
                .payloadBytesMax(settings.payloadBytesMax)
                .streamsMax(1_000_000)
                .keepaliveIntervalMs(settings.keepaliveIntervalMs)
                .lifetimeMs(settings.keepaliveLifetimeMs)
                .lease(settings.leases ? LeaseMode.HONOUR : LeaseMode.OFF)
                .build();
        ByteBuf metadata = Unpooled.buffer();
        CallMetadata.peer(metadata);
        if (settings.bearer != null) {
            CallMetadata.bearer(metadata, settings.bearer);
        }
        setup = new SetupOptions(SetupOptions.DEFAULT.metadataMimeType(),
                SetupOptions.DEFAULT.dataMimeType(), ByteBufUtil.getBytes(metadata), null);
        loops = settings.busyPollUs == 0
                ? EventLoops.start(1) : EventLoops.startSpinning(1, settings.busyPollUs);
        thread = loops.next();
    }

    /** A turn begins: the clock is read when it is needed. */
    void turn() {
        isClockStale = true;
    }

    /** Microseconds, as of the turn. */
    long nowUs() {
        if (isClockStale) {
            isClockStale = false;
            nowUs = Math.max(nowUs, System.nanoTime() / 1_000);
        }
        return nowUs;
    }

    boolean isOwnThread() {
        return thread.inEventLoop();
    }

    /** Notifies the listener, whose exceptions must not end a connection. */
    void notify(Consumer<ClientListener> event) {
        try {
            event.accept(settings.listener);
        } catch (Throwable e) {
            LOG.error("Listener failed", e);
        }
    }

    /** The route of a method, from any thread. */
    Route route(Method<?, ?> method) {
        Route route = lastRoute;
        if (route != null && route.method == method) {
            return route;
        }
        route = routes.get(method);
        if (route != null) {
            lastRoute = route;
            return route;
        }
        if (routes.size() >= ROUTES_MAX) {
            throw new IllegalStateException("methods are constants: this client has called "
                    + ROUTES_MAX + " of them");
        }
        return routes.computeIfAbsent(method, its -> new Route(its, settings));
    }

    /** Makes a call, from any thread. */
    void submit(Call call) {
        if (thread.inEventLoop()) {
            nested++;
            try {
                begin(call);
            } finally {
                nested--;
            }
        } else if (isClosing) {
            call.onEnd(closed());
        } else if (!mailbox.offer(call)) {
            call.onEnd(new Busy(Duration.ofMillis(1), "this client's mailbox is full"));
        } else if (!isDraining.get() && isDraining.compareAndSet(false, true)) {
            wake();
        }
    }

    private void wake() {
        try {
            thread.execute(drain);
        } catch (RejectedExecutionException e) {
            // The loop has ended meanwhile: there is no other consumer.
            synchronized (mailbox) {
                isDraining.set(false);
                refuseAll();
            }
        }
    }

    private void refuseAll() {
        for (Call call = mailbox.poll(); call != null; call = mailbox.poll()) {
            call.onEnd(closed());
        }
    }

    private static RpcException closed() {
        return new Unavailable("the client is closed");
    }

    private void begin(Call call) {
        if (isClosing) {
            answers.end(call, closed());
        } else {
            dispatcher.begin(call);
        }
    }

    /** Begins the calls of the mailbox. */
    private void drain() {
        turn();
        for (int left = CALLS_A_TURN; left > 0; left--) {
            Call call = mailbox.poll();
            if (call == null) {
                isDraining.set(false);
                // A call that was added before the flag fell has woken no one.
                if (!mailbox.isEmpty() && isDraining.compareAndSet(false, true)) {
                    wake();
                }
                return;
            }
            try {
                begin(call);
            } catch (RuntimeException e) {
                LOG.error("A call could not be begun: route={}", call.route.method, e);
                answers.end(call, new Cancelled());
            }
        }
        wake();
    }

    /** Whether a call that was made on the loop is being begun. */
    boolean isNested() {
        return nested > 0;
    }

    /** Runs a task on the loop: at once, if the caller is on it. */
    void execute(Runnable task) {
        if (thread.inEventLoop()) {
            task.run();
        } else {
            later(task);
        }
    }

    /** Runs a task on the loop, not before the caller has returned. */
    void later(Runnable task) {
        try {
            thread.execute(() -> {
                turn();
                task.run();
            });
        } catch (RejectedExecutionException e) {
            LOG.debug("The client is closed: a task is dropped");
        }
    }

    /** Runs a task on the loop after a time. */
    Future<?> schedule(long delayUs, Runnable task) {
        return thread.schedule(() -> {
            turn();
            task.run();
        }, delayUs, TimeUnit.MICROSECONDS);
    }

    /** A call of the wheel is due at a time. */
    void armed(long atUs) {
        if (atUs < timerUs) {
            if (timer != null) {
                timer.cancel(false);
            }
            timerUs = atUs;
            timer = thread.schedule(onTimer, Math.max(atUs - nowUs(), 0), TimeUnit.MICROSECONDS);
        }
    }

    private void onTimer() {
        turn();
        timerUs = TimerWheel.NEVER;
        timer = null;
        for (Call call = wheel.poll(nowUs()); call != null; call = wheel.poll(nowUs())) {
            dispatcher.fire(call);
        }
        long nextUs = wheel.nextUs();
        if (nextUs != TimerWheel.NEVER) {
            armed(nextUs);
        }
    }

    /** The service of a name; it is watched from its first call on. */
    Service service(String name) {
        Service service = services.get(name);
        if (service == null) {
            service = new Service(this, name);
            services.put(name, service);
            service.watch();
        }
        return service;
    }

    /** Connects to an instance; the future completes on the loop. */
    CompletableFuture<RSocket> connect(Link link) {
        Optional<Place> place = Place.of("", link.pool.address);
        if (place.isEmpty()) {
            return CompletableFuture.failedFuture(
                    new UnknownHostException(link.pool.address + " is no IP address with a port"));
        }
        return new RSocketClient(loops)
                .config(config)
                .setup(setup)
                .tls(settings.tls)
                .connectMs(settings.connectMs)
                .handlers(() -> link)
                .connect(place.get().socketAddress(settings.serverName));
    }

    CompletableFuture<Explanation> explain(String service, byte[] key) {
        CompletableFuture<Explanation> explained = new CompletableFuture<>();
        try {
            thread.execute(() -> {
                turn();
                Service its = service(service);
                Long hash = key == null ? null : Hashes.hash(key);
                explained.complete(its.balancer.explain(nowUs(), hash, its.freshness()));
            });
        } catch (RejectedExecutionException e) {
            explained.completeExceptionally(closed());
        }
        return explained;
    }

    /** Ends all calls and connections, and the thread. It waits, unless the loop calls it. */
    void close() {
        CompletableFuture<Void> ended = new CompletableFuture<>();
        try {
            thread.execute(() -> {
                turn();
                endAll();
                ended.complete(null);
            });
        } catch (RejectedExecutionException e) {
            return;
        }
        if (thread.inEventLoop()) {
            ended.thenRunAsync(loops::close);
            return;
        }
        ended.join();
        loops.close();
        synchronized (mailbox) {
            refuseAll();
        }
    }

    private void endAll() {
        isClosing = true;
        for (Call call = wheel.any(); call != null; call = wheel.any()) {
            answers.end(call, new Cancelled());
        }
        services.values().forEach(Service::close);
        refuseAll();
    }
}
