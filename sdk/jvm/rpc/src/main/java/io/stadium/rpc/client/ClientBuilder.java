package io.stadium.rpc.client;

import io.netty.handler.ssl.SslContext;
import io.stadium.rpc.balance.Hedge;
import io.stadium.rpc.discovery.InstanceSource;
import io.stadium.rpc.discovery.StaticInstances;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Makes an {@link RpcClient}. Each method checks its argument and returns the builder.
 *
 * <p>The guards (deadlines, retries, ejection, hedging) are on by default.
 */
public final class ClientBuilder {
    private final Settings settings = new Settings();

    ClientBuilder() {}

    /**
     * Calls instances at these addresses, which serve every service that is called.
     *
     * @param addresses {@code HOST:PORT}; a name may have several addresses
     * @return this builder
     */
    public ClientBuilder instances(String... addresses) {
        closeOwnSource();
        settings.source = new StaticInstances(List.of(addresses));
        settings.ownsSource = true;
        return this;
    }

    /**
     * Calls the instances that a registry names.
     *
     * @param source the registry, which the caller closes after the client
     * @return this builder
     */
    public ClientBuilder discovery(InstanceSource source) {
        closeOwnSource();
        settings.source = Objects.requireNonNull(source, "source");
        settings.ownsSource = false;
        return this;
    }

    private void closeOwnSource() {
        if (settings.ownsSource) {
            settings.source.close();
        }
    }

    /**
     * Calls one version of services only.
     *
     * @param version the version; default any
     * @return this builder
     */
    public ClientBuilder version(String version) {
        settings.version = Objects.requireNonNull(version, "version");
        return this;
    }

    /**
     * Sets the deadline of a unary call that names none, and the time for which a stream that names
     * none may wait for a connection.
     *
     * @param deadline 1 ms to a day; default 5 s
     * @return this builder
     */
    public ClientBuilder deadline(Duration deadline) {
        settings.deadlineUs = micros("deadline", deadline, 1, CallOptions.DEADLINE_MAX.toMillis());
        return this;
    }

    /**
     * Sets how many connections each event loop has to an instance. One carries any number of
     * calls; more help where one core of the service is not enough.
     *
     * @param count 1 to 1,000; default 1
     * @return this builder
     */
    public ClientBuilder connectionsPerInstance(int count) {
        settings.connectionsPerInstance = check("connectionsPerInstance", count, 1, 1_000);
        return this;
    }

    /**
     * Sets how many instances of a service are connected to.
     *
     * @param instances 1 to 10,000; default 20
     * @return this builder
     */
    public ClientBuilder subset(int instances) {
        settings.subset = check("subset", instances, 1, 10_000);
        return this;
    }

    /**
     * Prefers instances of a zone, where at least three of them work.
     *
     * @param zone the zone; default none
     * @return this builder
     */
    public ClientBuilder zone(String zone) {
        settings.zone = Objects.requireNonNull(zone, "zone");
        return this;
    }

    /**
     * Sets how often a call is sent at most. Only Busy answers and calls of idempotent methods are
     * sent again, within a budget.
     *
     * @param attempts 1 to 10, the first included; default 3
     * @return this builder
     */
    public ClientBuilder attempts(int attempts) {
        settings.attempts = check("attempts", attempts, 1, 10);
        return this;
    }

    /**
     * Sets whether a slow call of an idempotent method is sent to another instance too.
     *
     * @param isOn default true
     * @return this builder
     */
    public ClientBuilder hedging(boolean isOn) {
        settings.hedge = isOn ? Hedge.Settings.DEFAULT : null;
        return this;
    }

    /**
     * Sets whether no request is sent without a lease of the service.
     *
     * @param isOn default false
     * @return this builder
     */
    public ClientBuilder leases(boolean isOn) {
        settings.leases = isOn;
        return this;
    }

    /**
     * Sets how many calls of a service may wait for a connection, on each event loop. The next one
     * fails as {@link io.stadium.rpc.Unavailable}.
     *
     * @param calls 0 to 1,000,000; default 10,000
     * @return this builder
     */
    public ClientBuilder waitingMax(int calls) {
        settings.waitingMax = check("waitingMax", calls, 0, 1_000_000);
        return this;
    }

    /**
     * Sets how long calls wait where no instance can be reached, before they fail as
     * {@link io.stadium.rpc.Unavailable}. More outlasts longer restarts, less fails earlier.
     *
     * @param grace 0 to 600 s; default 1 s
     * @return this builder
     */
    public ClientBuilder unreachableGrace(Duration grace) {
        settings.unreachableGraceUs = micros("unreachableGrace", grace, 0, 600_000);
        return this;
    }

    /**
     * Sets the largest payload, sent or received.
     *
     * @param bytes 1 to 1 GiB; default 16 MiB
     * @return this builder
     */
    public ClientBuilder payloadBytesMax(int bytes) {
        settings.payloadBytesMax = check("payloadBytesMax", bytes, 1, 1 << 30);
        return this;
    }

    /**
     * Sets for how long an event loop polls before it sleeps. This shortens round trips, and
     * occupies a core while there is traffic.
     *
     * @param time 0 to 1 ms; default 50 us, and 0 where the process has one processor
     * @return this builder
     */
    public ClientBuilder busyPoll(Duration time) {
        long micros = time.toNanos() / 1_000;
        settings.busyPollUs = check("busyPoll in microseconds",
                (int) Math.min(Math.max(micros, -1), Integer.MAX_VALUE), 0, 1_000);
        isBusyPollSet = true;
        return this;
    }

    private boolean isBusyPollSet;

    /**
     * Sets how many event loops the client has. Each has a thread, its own connections, and the
     * calls of some of the threads that make them.
     *
     * @param loops 1 to 64; default 1
     * @return this builder
     */
    public ClientBuilder loops(int loops) {
        settings.loops = check("loops", loops, 1, 64);
        return this;
    }

    /**
     * Sets a bearer token that every request carries.
     *
     * @param token the token, which is not logged; default none
     * @return this builder
     */
    public ClientBuilder bearer(String token) {
        settings.bearer = Objects.requireNonNull(token, "token");
        return this;
    }

    /**
     * Uses TLS.
     *
     * @param context a context for clients, with their own certificate where services ask for one
     * @return this builder
     */
    public ClientBuilder tls(SslContext context) {
        settings.tls = Objects.requireNonNull(context, "context");
        return this;
    }

    /**
     * Sets the name that certificates of services must have.
     *
     * @param name a host name; default the host of the instance's address
     * @return this builder
     */
    public ClientBuilder serverName(String name) {
        settings.serverName = Objects.requireNonNull(name, "name");
        return this;
    }

    /**
     * Sets where calls get their place in a trace from.
     *
     * @param trace asked on the thread that makes a call; default none
     * @return this builder
     */
    public ClientBuilder trace(TraceContext trace) {
        settings.trace = Objects.requireNonNull(trace, "trace");
        return this;
    }

    /**
     * Sets a listener for metrics.
     *
     * @param listener notified on event loops; default {@link ClientListener#NONE}
     * @return this builder
     */
    public ClientBuilder listener(ClientListener listener) {
        settings.listener = Objects.requireNonNull(listener, "listener");
        return this;
    }

    /**
     * Sets when a silent connection is abandoned.
     *
     * @param interval time between two signs of life that each connection asks for, 10 ms to 600 s;
     *     default 2 s
     * @param lifetime time without a sign of life after which it is abandoned, above the interval
     *     and up to an hour; default 8 s
     * @return this builder
     */
    public ClientBuilder keepAlive(Duration interval, Duration lifetime) {
        settings.keepaliveIntervalMs = (int) (micros("interval", interval, 10, 600_000) / 1_000);
        settings.keepaliveLifetimeMs = (int) (micros("lifetime", lifetime,
                settings.keepaliveIntervalMs + 1, 3_600_000) / 1_000);
        return this;
    }

    /**
     * Starts the client. It connects to a service when that is called first.
     *
     * @return a client that its caller closes
     * @throws IllegalArgumentException there are neither instances nor a discovery
     */
    public RpcClient start() {
        if (settings.source == null) {
            throw new IllegalArgumentException("a client needs instances or a discovery");
        }
        if (!isBusyPollSet && Runtime.getRuntime().availableProcessors() == 1) {
            settings.busyPollUs = 0;
        }
        settings.seed = ThreadLocalRandom.current().nextLong();
        return new RpcClient(settings);
    }

    private static int check(String name, int value, int min, int max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    name + " must be between " + min + " and " + max + ", not " + value);
        }
        return value;
    }

    private static long micros(String name, Duration value, long minMs, long maxMs) {
        boolean isSmall = value.compareTo(Duration.ofMillis(minMs)) < 0;
        if (isSmall || value.compareTo(Duration.ofMillis(maxMs)) > 0) {
            throw new IllegalArgumentException(name + " must be between " + minMs + " and " + maxMs
                    + " ms, not " + value);
        }
        return value.toNanos() / 1_000;
    }
}
