package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.stadium.memcache.Router.Member;
import io.stadium.memcache.driver.Connection;
import io.stadium.memcache.driver.Settings;
import io.stadium.memcache.protocol.Keys;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import javax.net.ssl.SSLContext;

/** Makes a {@link MemcacheClient}. Each method checks its argument and returns the builder. */
public final class ClientBuilder {
    private static final int WEIGHT_MAX = 100;

    /** A number of the server's has up to 20 digits, and stays one. */
    private static final int COMPRESS_FROM_MIN = 32;

    /** Above it, sums of nanoseconds would overflow. */
    private static final Duration TIME_MAX = Duration.ofDays(365);

    private final List<Member> members = new ArrayList<>();
    private Routing routing = Routing.RENDEZVOUS;
    private int ejectAfter = 5;
    private long ejectFor = Duration.ofSeconds(1).toNanos();
    private Dialect dialect;
    private SSLContext tls;
    private byte[] login;
    private long connectTimeout = Duration.ofMillis(500).toNanos();
    private long stall = Duration.ofSeconds(2).toNanos();
    private long spin = Duration.ofNanos(100_000).toNanos();
    private long backoffMin = Duration.ofMillis(10).toNanos();
    private long backoffMax = Duration.ofSeconds(1).toNanos();
    private int unsentBytesMax = 4 << 20;
    private int operationsMax = 16_384;

    Failover failover = Failover.OFF;
    byte[] prefix = {};
    long timeout = Duration.ofSeconds(1).toNanos();
    long udpTimeout = Duration.ofMillis(50).toNanos();
    int valueBytesMax = 1 << 20;
    int compressFrom = Integer.MAX_VALUE;
    Observer observer;
    Executor executor = new CompletableFuture<>().defaultExecutor();

    ClientBuilder() {}

    /**
     * Adds servers of weight 1.
     *
     * @param addresses as {@link Address#parse} reads them
     * @return this builder
     */
    public ClientBuilder servers(String... addresses) {
        for (String address : addresses) {
            server(Address.parse(address), 1);
        }
        return this;
    }

    /**
     * Adds a server.
     *
     * @param address its address
     * @param weight its share of the keys beside the other servers', 1 to 100
     * @return this builder
     */
    public ClientBuilder server(Address address, int weight) {
        check(weight >= 1 && weight <= WEIGHT_MAX, "a weight is 1 to 100");
        members.add(new Member(Objects.requireNonNull(address, "address"), weight, 0));
        return this;
    }

    /**
     * Adds a server with a UDP port on the same host, for {@link MemcacheOperations#lossyGet}.
     *
     * @param address its address, no Unix socket
     * @param weight its share of the keys beside the other servers', 1 to 100
     * @param udpPort {@code memcached -U}
     * @return this builder
     */
    public ClientBuilder server(Address address, int weight, int udpPort) {
        check(address instanceof Address.Tcp, "a Unix socket has no UDP port");
        check(udpPort >= 1 && udpPort <= Address.PORT_MAX, "a UDP port is 1 to 65,535");
        server(address, weight);
        members.set(members.size() - 1, new Member(address, weight, udpPort));
        return this;
    }

    /**
     * Sets the rule that assigns keys to servers.
     *
     * @param rule default rendezvous
     * @return this builder
     */
    public ClientBuilder routing(Routing rule) {
        routing = Objects.requireNonNull(rule, "rule");
        return this;
    }

    /**
     * Sets the destination of operations on an ejected server's keys.
     *
     * @param destination default {@link Failover#OFF}
     * @return this builder
     */
    public ClientBuilder failover(Failover destination) {
        failover = Objects.requireNonNull(destination, "destination");
        return this;
    }

    /**
     * Sets when a server is ejected, and for how long. Then one operation in each such time is a
     * trial; one success ends the ejection. A single server is never ejected.
     *
     * @param count timeouts and lost connections in a row, default 5; 0 for never
     * @param time default 1 s, with jitter
     * @return this builder
     */
    public ClientBuilder eject(int count, Duration time) {
        check(count >= 0, "a count is not negative");
        ejectAfter = count;
        ejectFor = Math.max(1, nanos(time));
        return this;
    }

    /**
     * Sets the namespace, which is put before every key and counts against its length.
     *
     * @param namespace default none
     * @return this builder
     */
    public ClientBuilder prefix(String namespace) {
        byte[] bytes = namespace.getBytes(UTF_8);
        check(bytes.length < Keys.BYTES_MAX, "the prefix leaves no room for a key");
        prefix = bytes;
        return this;
    }

    /**
     * Sets the protocol.
     *
     * @param its default meta where the server knows it, otherwise classic
     * @return this builder
     */
    public ClientBuilder dialect(Dialect its) {
        dialect = Objects.requireNonNull(its, "its");
        return this;
    }

    /**
     * Uses TLS. The certificate must have the host name of the server's address.
     *
     * @param context for clients
     * @return this builder
     */
    public ClientBuilder tls(SSLContext context) {
        tls = Objects.requireNonNull(context, "context");
        return this;
    }

    /**
     * Logs each connection in, on servers with {@code memcached -Y}. Without TLS, user and password
     * can be read on the network.
     *
     * @param user without spaces, control characters and colons
     * @param password without spaces and control characters; both have 250 bytes at most
     * @return this builder
     */
    public ClientBuilder credentials(String user, String password) {
        login = Credentials.command(user, password);
        return this;
    }

    /**
     * Sets the time that an operation may take.
     *
     * @param time default 1 s
     * @return this builder
     */
    public ClientBuilder timeout(Duration time) {
        timeout = nanos(time);
        return this;
    }

    /**
     * Sets the time after which a get over UDP is lost.
     *
     * @param time default 50 ms
     * @return this builder
     */
    public ClientBuilder udpTimeout(Duration time) {
        udpTimeout = nanos(time);
        return this;
    }

    /**
     * Sets the time that connecting may take, with the first answer.
     *
     * @param time default 500 ms
     * @return this builder
     */
    public ClientBuilder connectTimeout(Duration time) {
        connectTimeout = nanos(time);
        return this;
    }

    /**
     * Sets the time after which a server is disconnected that owes answers and sends nothing.
     *
     * @param time default 2 s
     * @return this builder
     */
    public ClientBuilder stall(Duration time) {
        stall = nanos(time);
        return this;
    }

    /**
     * Sets the time for which a waiting caller spins on the socket before it sleeps. It costs
     * processor time and saves a wake-up.
     *
     * @param time default 100 µs; zero turns it off
     * @return this builder
     */
    public ClientBuilder spin(Duration time) {
        spin = nanos(time);
        return this;
    }

    /**
     * Sets the delays after connects that failed. They double with each, with jitter.
     *
     * @param first default 10 ms
     * @param longest default 1 s
     * @return this builder
     */
    public ClientBuilder backoff(Duration first, Duration longest) {
        backoffMin = Math.min(nanos(first), Duration.ofHours(1).toNanos());
        backoffMax = nanos(longest);
        return this;
    }

    /**
     * Sets the bytes of a value, written or read.
     *
     * @param bytes default 1 MiB, as {@code memcached -I}; at most 1 GiB
     * @return this builder
     */
    public ClientBuilder valueBytesMax(int bytes) {
        check(bytes >= 0 && bytes <= 1 << 30, "a value has up to 1 GiB");
        valueBytesMax = bytes;
        return this;
    }

    /**
     * Sets the bytes that wait for a server; above it, {@link Busy}.
     *
     * @param bytes default 4 MiB, four values of the greatest size
     * @return this builder
     */
    public ClientBuilder unsentBytesMax(int bytes) {
        check(bytes >= 0, "a bound is not negative");
        unsentBytesMax = bytes;
        return this;
    }

    /**
     * Sets the operations of a server that are not done; above it, {@link Busy}.
     *
     * @param count default 16,384: some 100 ms of one server's work
     * @return this builder
     */
    public ClientBuilder operationsMax(int count) {
        check(count > 0, "operationsMax is 1 at least");
        operationsMax = count;
        return this;
    }

    /**
     * Compresses values that become smaller with zlib. Values that are compressed are read in any
     * case. {@code append} and {@code prepend} damage a compressed value.
     *
     * @param bytes values from this size on, 32 at least; default none
     * @return this builder
     */
    public ClientBuilder compressFrom(int bytes) {
        check(bytes >= COMPRESS_FROM_MIN,
                "compressFrom is 32 at least: shorter values may be numbers");
        compressFrom = bytes;
        return this;
    }

    /**
     * Sets the observer of operations, for metrics and traces.
     *
     * @param its default none, which costs nothing
     * @return this builder
     */
    public ClientBuilder observer(Observer its) {
        observer = Objects.requireNonNull(its, "its");
        return this;
    }

    /**
     * Sets the executor that completes futures.
     *
     * @param its default that of {@link CompletableFuture}
     * @return this builder
     * @see Pending#toCompletableFuture
     */
    public ClientBuilder executor(Executor its) {
        executor = Objects.requireNonNull(its, "its");
        return this;
    }

    /**
     * Makes the client. It connects to a server with the first operation there.
     *
     * @return a client that its caller closes
     * @throws IllegalArgumentException there is no server, or one with a UDP port and TLS or a
     *     login, which UDP has not
     */
    public MemcacheClient build() {
        check(!members.isEmpty(), "there is no server");
        boolean hasUdp = members.stream().anyMatch(member -> member.udp() != 0);
        check(!hasUdp || tls == null && login == null, "UDP has neither TLS nor a login");
        Settings settings = new Settings(dialect, tls, login, connectTimeout, stall, spin,
                backoffMin, backoffMax, valueBytesMax, unsentBytesMax, operationsMax);
        int ejections = members.size() == 1 ? 0 : ejectAfter;
        List<Server> servers = members.stream()
                .map(member -> new Server(
                        new Connection(member.address(), member.udp(), settings), ejections,
                        ejectFor))
                .toList();
        return new MemcacheClient(
                new ClientCore(servers, Router.of(routing, members), this), timeout);
    }

    static long nanos(Duration time) {
        check(!time.isNegative(), "a time is not negative");
        return (time.compareTo(TIME_MAX) > 0 ? TIME_MAX : time).toNanos();
    }

    private static void check(boolean isRight, String rule) {
        if (!isRight) {
            throw new IllegalArgumentException(rule);
        }
    }
}
