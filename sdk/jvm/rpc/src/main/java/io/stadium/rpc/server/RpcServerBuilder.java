package io.stadium.rpc.server;

import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * The settings of an {@link RpcServer}. Each method checks its argument and returns the builder.
 *
 * <p>Bounds of admission hold for each event loop.
 */
public final class RpcServerBuilder {
    private static final int DAY_MS = 86_400_000;

    final List<InetSocketAddress> listen = new ArrayList<>();
    final List<Service> services = new ArrayList<>();
    SslContext tls;
    int loops = 1;
    int busyPollUs = Runtime.getRuntime().availableProcessors() > 1 ? 50 : 0;
    long deadlineMs = 5_000;
    long deadlineMaxMs = 600_000;
    long inlineWaitMaxUs = 10_000;
    int concurrencyInitial = 200;
    int concurrencyMin = 4;
    int concurrencyMax = 10_000;
    int queueMax = 1_000;
    int blockingThreads;
    boolean virtualThreads = Workers.hasVirtualThreads();
    int streamThreads = 256;
    boolean leases = true;
    int payloadBytesMax = 16 * 1024 * 1024;
    int connectionsMax = 50_000;
    int streamsMax = 100_000;
    long unfinishedBytesMax = 256L * 1024 * 1024;
    int readStallMs = 30_000;
    Registrar registrar;
    InetSocketAddress advertise;
    String zone;
    int weight = 100;
    Operators operators = Operators.NONE;
    LogLevels logLevels;
    long quiesceWithinMs = 30_000;

    RpcServerBuilder() {}

    /** A copy, so that a server's settings never change. */
    RpcServerBuilder(RpcServerBuilder other) {
        listen.addAll(other.listen);
        services.addAll(other.services);
        tls = other.tls;
        loops = other.loops;
        busyPollUs = other.busyPollUs;
        deadlineMs = other.deadlineMs;
        deadlineMaxMs = other.deadlineMaxMs;
        inlineWaitMaxUs = other.inlineWaitMaxUs;
        concurrencyInitial = other.concurrencyInitial;
        concurrencyMin = other.concurrencyMin;
        concurrencyMax = other.concurrencyMax;
        queueMax = other.queueMax;
        blockingThreads = other.blockingThreads;
        virtualThreads = other.virtualThreads;
        streamThreads = other.streamThreads;
        leases = other.leases;
        payloadBytesMax = other.payloadBytesMax;
        connectionsMax = other.connectionsMax;
        streamsMax = other.streamsMax;
        unfinishedBytesMax = other.unfinishedBytesMax;
        readStallMs = other.readStallMs;
        registrar = other.registrar;
        advertise = other.advertise;
        zone = other.zone;
        weight = other.weight;
        operators = other.operators;
        logLevels = other.logLevels;
        quiesceWithinMs = other.quiesceWithinMs;
    }

    /**
     * Adds a service.
     *
     * @param service the service
     * @return this builder
     */
    public RpcServerBuilder service(Service service) {
        services.add(Objects.requireNonNull(service));
        return this;
    }

    /**
     * Adds an address to listen on. At least one is needed.
     *
     * @param address an IP address and a port; port 0 takes a free one
     * @return this builder
     * @throws IllegalArgumentException the address is a name that was not found
     */
    public RpcServerBuilder listen(InetSocketAddress address) {
        if (address.isUnresolved()) {
            throw new IllegalArgumentException("not an IP address: " + address);
        }
        listen.add(address);
        return this;
    }

    /**
     * Adds an address to listen on, as {@link #listen(InetSocketAddress)}.
     *
     * @param host an IP address
     * @param port 0 to 65,535; 0 takes a free one
     * @return this builder
     */
    public RpcServerBuilder listen(String host, int port) {
        return listen(new InetSocketAddress(host, port));
    }

    /**
     * Uses TLS on all addresses.
     *
     * @param context a context for servers; it decides whether clients show certificates
     * @return this builder
     */
    public RpcServerBuilder tls(SslContext context) {
        tls = Objects.requireNonNull(context);
        return this;
    }

    /**
     * Uses TLS on all addresses.
     *
     * @param certificate a file with the certificate chain, PEM
     * @param key a file with the private key, PEM, not encrypted
     * @return this builder
     * @throws IOException the files cannot be read or used
     */
    public RpcServerBuilder tls(Path certificate, Path key) throws IOException {
        return tls(SslContextBuilder.forServer(certificate.toFile(), key.toFile()).build());
    }

    /**
     * Sets the number of event loops, a thread each.
     *
     * @param count 1 to 64; default 1
     * @return this builder
     */
    public RpcServerBuilder loops(int count) {
        loops = check("loops", count, 1, 64);
        return this;
    }

    /**
     * Sets how long a loop polls after the last activity before it sleeps. It shortens the round
     * trip of one request at a time, and occupies a core while there is traffic.
     *
     * @param micros microseconds, 0 to 1,000; default 50, and 0 where there is one processor
     * @return this builder
     */
    public RpcServerBuilder busyPollUs(int micros) {
        busyPollUs = check("busyPollUs", micros, 0, 1_000);
        return this;
    }

    /**
     * Sets the deadline of a request that states none.
     *
     * @param deadline 1 ms to 1 day; default 5 s
     * @return this builder
     */
    public RpcServerBuilder deadline(Duration deadline) {
        deadlineMs = check("deadline", deadline.toMillis(), 1, DAY_MS);
        return this;
    }

    /**
     * Sets the longest deadline that a request may state; a longer one is cut to it.
     *
     * @param deadline 1 ms to 1 day; default 600 s
     * @return this builder
     */
    public RpcServerBuilder deadlineMax(Duration deadline) {
        deadlineMaxMs = check("deadlineMax", deadline.toMillis(), 1, DAY_MS);
        return this;
    }

    /**
     * Sets how long a request of an inline function may wait for its turn on the loop before it is
     * answered Busy.
     *
     * @param wait 0 to 60 s; default 10 ms. More smooths bursts, and lets latency grow to about
     *     twice of it under overload
     * @return this builder
     */
    public RpcServerBuilder inlineWaitMax(Duration wait) {
        inlineWaitMaxUs = check("inlineWaitMax", wait.toNanos() / 1_000, 0, 60_000_000);
        return this;
    }

    /**
     * Bounds the asynchronous and blocking calls under way, for each loop. Between the bounds the
     * limit follows the measured latency.
     *
     * @param initial the limit before anything was measured; default 200
     * @param min the lowest, at least 1; default 4
     * @param max the highest, at least {@code min}, at most 1,000,000; default 10,000
     * @return this builder
     */
    public RpcServerBuilder concurrency(int initial, int min, int max) {
        concurrencyMin = check("min", min, 1, 1_000_000);
        concurrencyMax = check("max", max, min, 1_000_000);
        concurrencyInitial = check("initial", initial, min, max);
        return this;
    }

    /**
     * Bounds the calls that wait for the limit, for each loop; the next one is answered Busy.
     *
     * @param calls 0 to 1,000,000; default 1,000. Each costs the bytes of its request
     * @return this builder
     */
    public RpcServerBuilder queueMax(int calls) {
        queueMax = check("queueMax", calls, 0, 1_000_000);
        return this;
    }

    /**
     * Runs blocking functions on so many platform threads. By default they run on virtual threads
     * where the JDK has them, and on four platform threads elsewhere.
     *
     * @param threads 1 to 10,000
     * @return this builder
     */
    public RpcServerBuilder blockingThreads(int threads) {
        blockingThreads = check("blockingThreads", threads, 1, 10_000);
        virtualThreads = false;
        return this;
    }

    /**
     * Bounds the blocking streams and channels, each of which has a thread while it lasts: a
     * virtual one where the JDK has them, unless {@link #blockingThreads} is set. The next stream
     * is answered Busy.
     *
     * @param threads 1 to 100,000; default 256
     * @return this builder
     */
    public RpcServerBuilder streamThreads(int threads) {
        streamThreads = check("streamThreads", threads, 1, 100_000);
        return this;
    }

    /**
     * Sets whether clients that ask for leases get them.
     *
     * @param granted default {@code true}; {@code false} refuses such clients
     * @return this builder
     */
    public RpcServerBuilder leases(boolean granted) {
        leases = granted;
        return this;
    }

    /**
     * Bounds the metadata and data of one payload, received or sent.
     *
     * @param bytes 1 to 1 GiB; default 16 MiB
     * @return this builder
     */
    public RpcServerBuilder payloadBytesMax(int bytes) {
        payloadBytesMax = check("payloadBytesMax", bytes, 1, 1 << 30);
        return this;
    }

    /**
     * Bounds the connections; more are closed as they are accepted.
     *
     * @param connections 1 to 1,000,000; default 50,000
     * @return this builder
     */
    public RpcServerBuilder connectionsMax(int connections) {
        connectionsMax = check("connectionsMax", connections, 1, 1_000_000);
        return this;
    }

    /**
     * Bounds the streams of one connection, calls included; more are answered Busy.
     *
     * @param streams 1 to 1,000,000; default 100,000
     * @return this builder
     */
    public RpcServerBuilder streamsMax(int streams) {
        streamsMax = check("streamsMax", streams, 1, 1_000_000);
        return this;
    }

    /**
     * Bounds the bytes that all connections hold together of frames and payloads that have not
     * arrived whole. Beyond it the connections that hold most are closed, within a quarter of a
     * second.
     *
     * @param bytes at least 65,536; default 256 MiB
     * @return this builder
     */
    public RpcServerBuilder unfinishedBytesMax(long bytes) {
        unfinishedBytesMax = check("unfinishedBytesMax", bytes, 65_536, Long.MAX_VALUE);
        return this;
    }

    /**
     * Sets how long a client may take nothing of what waits for it before its connection is closed.
     * It is closed at once if 16 MiB and a payload wait.
     *
     * @param stall 1 ms to 1 day; default 30 s
     * @return this builder
     */
    public RpcServerBuilder readStall(Duration stall) {
        readStallMs = (int) check("readStall", stall.toMillis(), 1, DAY_MS);
        return this;
    }

    /**
     * Registers the services while the server serves.
     *
     * @param where the registry; default nowhere. The server does not close it
     * @return this builder
     */
    public RpcServerBuilder registrar(Registrar where) {
        registrar = Objects.requireNonNull(where);
        return this;
    }

    /**
     * Sets the address to register.
     *
     * @param address default the first that the server listens on
     * @return this builder
     */
    public RpcServerBuilder advertise(InetSocketAddress address) {
        advertise = Objects.requireNonNull(address);
        return this;
    }

    /**
     * Sets the zone to register.
     *
     * @param name at most 64 bytes; default none
     * @return this builder
     */
    public RpcServerBuilder zone(String name) {
        int bytes = name.getBytes(java.nio.charset.StandardCharsets.UTF_8).length;
        check("the length of zone", bytes, 1, 64);
        zone = name;
        return this;
    }

    /**
     * Sets the weight to register: an instance of weight 200 gets twice the calls of one of 100.
     *
     * @param share 1 to 10,000; default 100
     * @return this builder
     */
    public RpcServerBuilder weight(int share) {
        weight = check("weight", share, 1, 10_000);
        return this;
    }

    /**
     * Sets who may use the operating methods.
     *
     * @param who default {@link Operators#NONE}
     * @return this builder
     */
    public RpcServerBuilder operators(Operators who) {
        operators = Objects.requireNonNull(who);
        return this;
    }

    /**
     * Sets what {@code NAME/log-level} does.
     *
     * @param levels default: the route answers that it cannot
     * @return this builder
     */
    public RpcServerBuilder logLevels(LogLevels levels) {
        logLevels = Objects.requireNonNull(levels);
        return this;
    }

    /**
     * Sets how long a quiesce may take that names no time: one by an operator, or by a signal under
     * {@link RpcServers#serve}.
     *
     * @param within 0 to 1 hour; default 30 s
     * @return this builder
     */
    public RpcServerBuilder quiesceWithin(Duration within) {
        quiesceWithinMs = check("quiesceWithin", within.toMillis(), 0, 3_600_000);
        return this;
    }

    /**
     * Listens on all addresses, then registers the services.
     *
     * @return a server that serves
     * @throws IOException an address cannot be listened on
     * @throws IllegalArgumentException the settings contradict each other
     */
    public RpcServer start() throws IOException {
        if (listen.isEmpty()) {
            throw new IllegalArgumentException("a server needs an address to listen on");
        }
        return new RpcServer(new RpcServerBuilder(this)).start();
    }

    private static int check(String name, int value, int min, int max) {
        return (int) check(name, (long) value, min, max);
    }

    private static long check(String name, long value, long min, long max) {
        if (value < min || value > max) {
            throw new IllegalArgumentException(
                    name + " must be between " + min + " and " + max + ", not " + value);
        }
        return value;
    }
}
