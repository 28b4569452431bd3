package io.stadium.rpc.client;

import io.stadium.rpc.ConnectionBroken;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unavailable;
import io.stadium.rpc.balance.Balancer;
import io.stadium.rpc.balance.Budget;
import io.stadium.rpc.balance.Known;
import io.stadium.rpc.discovery.InstanceSource;
import io.stadium.rpc.discovery.InstanceValue.State;
import io.stadium.rpc.discovery.Instances;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.netty.RSocket;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A service as one event loop calls it: its instances, the connections to them, and the calls that
 * wait for one.
 *
 * <p>The balancer decides which instances are wanted. A connection whose instance is not wanted any
 * more finishes the calls on it. Where no instance can be reached, calls wait for a grace, because
 * servers restart, and fail then; new ones fail at once until a connection is up.
 */
final class Service {
    /** Instances that an error names. */
    private static final int TRIED_MAX = 8;

    /** Calls that fail in one turn because no instance can be reached: a few milliseconds. */
    private static final int CALLS_A_TURN = 1_000;

    final String name;
    final Balancer balancer;
    final Budget budget = new Budget(0.2, 10, 100);
    private final ClientLoop loop;
    private final Settings settings;

    /** By the slots of the instances. */
    private Pool[] pools = new Pool[8];

    /** Connections that are not in a pool any more, and finish their calls. */
    private final List<Link> leaving = new ArrayList<>();

    private final ArrayDeque<Call> waiting = new ArrayDeque<>();
    private String freshness = "nothing is known yet";

    /** Whether the source has answered. */
    private boolean isKnown;

    /** When waiting calls fail; {@link TimerWheel#NEVER} where an instance may be reached. */
    private long hopelessUs = TimerWheel.NEVER;

    private InstanceSource.Watch watch;

    Service(ClientLoop loop, String name) {
        this.loop = loop;
        this.name = name;
        settings = loop.settings;
        balancer = new Balancer(settings.balance(loop.index));
    }

    /** Begins to watch the instances. A list that is there at once is applied at once. */
    void watch() {
        watch = settings.source.watch(name, instances ->
                loop.execute(() -> apply(instances)));
    }

    private void apply(Instances list) {
        freshness = list.freshness();
        if (!list.isKnown() || loop.isClosing) {
            return;
        }
        isKnown = true;
        List<Known> known = list.instances().stream()
                .filter(one -> settings.version == null || one.version().isEmpty()
                        || settings.version.equals(one.version()))
                .map(one -> new Known(one.address(), one.value().load(), one.value().zone(),
                        one.value().weight(), one.version(),
                        one.value().state() == State.QUIESCING))
                .toList();
        boolean isNews = balancer.update(known, loop.nowUs()).added() > 0;
        closePoolsOfTheGone();
        ensureConnected();
        sendWaiting();
        if (isNews) {
            hopelessUs = TimerWheel.NEVER;
        }
        lookForHope();
    }

    String freshness() {
        return freshness;
    }

    /** The pool of an instance. */
    Pool pool(int instance) {
        int slot = instance & 0xffff;
        if (slot >= pools.length) {
            pools = Arrays.copyOf(pools, Math.max(slot + 1, pools.length * 2));
        }
        Pool pool = pools[slot];
        if (pool == null || pool.instance != instance) {
            pool = new Pool(instance, balancer.address(instance));
            pools[slot] = pool;
        }
        return pool;
    }

    /** Whether a pool is its instance's, which may have gone. */
    private boolean isLive(Pool pool) {
        return pools[pool.instance & 0xffff] == pool;
    }

    private void closePoolsOfTheGone() {
        for (int slot = 0; slot < pools.length; slot++) {
            Pool pool = pools[slot];
            if (pool != null && balancer.address(pool.instance) == null) {
                pools[slot] = null;
                for (Link link : List.copyOf(pool.open)) {
                    pool.remove(link);
                    leave(link);
                }
            }
        }
    }

    /** Ends a connection when its calls have ended. */
    private void leave(Link link) {
        link.isClosing = true;
        leaving.add(link);
        loop.later(() -> link.rsocket.close(ErrorCode.CONNECTION_CLOSE,
                "the client does not need it any more"));
    }

    /** Opens the connections that are missing. */
    void ensureConnected() {
        for (int instance : balancer.wanted()) {
            connect(instance);
        }
    }

    /** Opens connections to an instance up to their number, unless it is too early. */
    void connect(int instance) {
        Pool pool = pool(instance);
        int wanted = settings.connectionsPerInstance;
        while (!loop.isClosing && pool.open.size() + pool.opening < wanted
                && pool.retryUs <= loop.nowUs()) {
            pool.opening++;
            Link link = new Link(loop, this, pool);
            loop.connect(link).whenComplete((rsocket, error) -> {
                loop.turn();
                if (error == null) {
                    opened(link, rsocket);
                } else {
                    ended(link, String.valueOf(error.getMessage()));
                }
            });
        }
    }

    private void opened(Link link, RSocket rsocket) {
        if (link.isGone) {
            return;
        }
        Pool pool = link.pool;
        pool.opening--;
        link.rsocket = rsocket;
        rsocket.channel().pipeline().addFirst(loop.turns);
        if (!isLive(pool) || loop.isClosing) {
            leave(link);
            return;
        }
        pool.add(link);
        pool.trouble = null;
        balancer.connected(pool.instance);
        loop.notify(listener -> listener.onConnected(name, pool.address));
        ClientLoop.LOG.debug("Connected: service={} instance={}", name, pool.address);
        lookForHope();
        sendWaiting();
    }

    /** A connection has ended, or did not come up. Its calls fail by themselves. */
    void ended(Link link, String why) {
        if (link.isGone) {
            return;
        }
        link.isGone = true;
        link.isClosing = true;
        leaving.remove(link);
        Pool pool = link.pool;
        if (link.rsocket == null) {
            pool.opening--;
        }
        ClientLoop.LOG.debug("Connection ended: service={} instance={} error={}", name,
                pool.address, why);
        loop.notify(listener -> listener.onDisconnected(name, pool.address, why));
        boolean wasOpen = pool.open.contains(link);
        pool.remove(link);
        if (!isLive(pool) || loop.isClosing) {
            return;
        }
        if (link.rsocket == null || wasOpen) {
            pool.retryUs = Math.max(pool.retryUs,
                    loop.nowUs() + pool.backoff.waitMs(loop.random) * 1_000);
        }
        if (pool.open.isEmpty()) {
            pool.trouble = why;
            balancer.disconnected(pool.instance, pool.retryUs);
        }
        retryLater(pool);
        ensureConnected();
        sendWaiting();
        lookForHope();
        settings.source.connectionFailed();
    }

    /** No more requests on a connection; the calls on it go on. */
    void retire(Link link) {
        if (link.isClosing) {
            return;
        }
        link.isClosing = true;
        leaving.add(link);
        Pool pool = link.pool;
        pool.remove(link);
        if (isLive(pool)) {
            // An instance that ends each connection at once is not to be tried without a pause.
            pool.retryUs = Math.max(pool.retryUs,
                    loop.nowUs() + pool.backoff.waitMs(loop.random) * 1_000);
            if (pool.open.isEmpty()) {
                balancer.disconnected(pool.instance, pool.retryUs);
            }
            retryLater(pool);
        }
    }

    private void retryLater(Pool pool) {
        if (pool.isRetryScheduled) {
            return;
        }
        pool.isRetryScheduled = true;
        loop.schedule(Math.max(pool.retryUs - loop.nowUs(), 0), () -> {
            pool.isRetryScheduled = false;
            boolean isNeeded = isLive(pool)
                    && (balancer.isWanted(pool.instance) || !waiting.isEmpty());
            if (isNeeded && pool.retryUs > loop.nowUs()) {
                // Another attempt failed meanwhile.
                retryLater(pool);
            } else if (isNeeded) {
                connect(pool.instance);
            }
        });
    }

    /** Has a call wait for a connection, or ends it. */
    void waitForConnection(Call call) {
        if (call.isWaiting) {
            return;
        }
        long atUs = isKnown && balancer.size() > 0 ? hopelessUs : lookForHope();
        if (atUs <= loop.nowUs()) {
            loop.answers.end(call, unreachable(call.made));
            return;
        }
        if (waiting.size() >= settings.waitingMax) {
            loop.answers.end(call, new Unavailable(waiting.size() + " calls of `" + name
                    + "` wait for a connection already"));
            return;
        }
        call.isWaiting = true;
        waiting.add(call);
        if (call.deadlineUs == TimerWheel.NEVER && call.againUs() == TimerWheel.NEVER) {
            // A stream may last for ever; that no instance serves it is known in time.
            loop.dispatcher.waitUntil(call, loop.nowUs() + settings.deadlineUs);
        }
    }

    /** A connection may be there: calls that wait for one are sent. */
    void sendWaiting() {
        if (hopelessUs <= loop.nowUs()) {
            return;
        }
        for (int left = waiting.size(); left > 0; left--) {
            Call call = waiting.poll();
            if (call == null) {
                return;
            }
            call.isWaiting = false;
            if (waitsForConnection(call)) {
                loop.dispatcher.dispatch(call, 0);
            }
        }
    }

    private static boolean waitsForConnection(Call call) {
        boolean waitsAnyway = call.againUs() != TimerWheel.NEVER
                && call.deadlineUs != TimerWheel.NEVER;
        return !call.isEnded && !waitsAnyway && !call.isInFlight();
    }

    /**
     * Looks whether an instance may be reached. Returns when calls end that wait in vain, or
     * {@link TimerWheel#NEVER}.
     */
    private long lookForHope() {
        if (isKnown && !isOutOfReach()) {
            hopelessUs = TimerWheel.NEVER;
            return hopelessUs;
        }
        if (hopelessUs != TimerWheel.NEVER) {
            return hopelessUs;
        }
        long graceUs = isKnown ? settings.unreachableGraceUs : settings.discoveryGraceUs;
        hopelessUs = loop.nowUs() + graceUs;
        loop.schedule(graceUs, this::endHopeless);
        return hopelessUs;
    }

    /** Whether every instance failed when it was last tried, or leaves. */
    private boolean isOutOfReach() {
        for (int instance : balancer.ids()) {
            Pool pool = pools.length > (instance & 0xffff) ? pools[instance & 0xffff] : null;
            boolean hasFailed = pool != null && pool.instance == instance && pool.open.isEmpty()
                    && pool.trouble != null;
            if (!hasFailed && !balancer.isLeaving(instance)) {
                return false;
            }
        }
        return true;
    }

    /** Ends the calls that have waited for long enough, so many in a turn. */
    private void endHopeless() {
        for (int left = CALLS_A_TURN; hopelessUs <= loop.nowUs(); left--) {
            Call call = waiting.peek();
            if (call == null) {
                return;
            }
            if (left == 0) {
                loop.later(this::endHopeless);
                return;
            }
            waiting.poll();
            call.isWaiting = false;
            if (waitsForConnection(call)) {
                loop.answers.end(call, unreachable(call.made));
            }
        }
    }

    /** Why a call ends that reached no instance, and was sent so often before. */
    RpcException unreachable(int made) {
        List<Unavailable.Attempted> tried = new ArrayList<>();
        for (int instance : balancer.ids()) {
            if (tried.size() == TRIED_MAX) {
                break;
            }
            Pool pool = pool(instance);
            String why = balancer.isLeaving(instance) ? "it is leaving"
                    : !pool.open.isEmpty() ? "it is connected, and takes no calls for now"
                    : pool.trouble != null ? pool.trouble
                    : pool.opening > 0 ? "the connection is not up yet"
                    : "it was not tried";
            tried.add(new Unavailable.Attempted(pool.address, why));
        }
        String reason = !isKnown ? "it is not known yet which instances serve `" + name + "`"
                : tried.isEmpty() ? "no instance of `" + name + "` is known"
                : "no instance of `" + name + "` can be reached, of " + balancer.size() + " known";
        Unavailable unavailable =
                new Unavailable(reason + ", discovery: " + freshness, tried);
        return made == 0 ? unavailable
                : new ConnectionBroken("it was sent, and then " + unavailable.getMessage());
    }

    /** Ends everything: the loop is closing. */
    void close() {
        if (watch != null) {
            watch.cancel();
        }
        for (Call call = waiting.poll(); call != null; call = waiting.poll()) {
            loop.answers.end(call, new io.stadium.rpc.Cancelled());
        }
        List<Link> links = new ArrayList<>(leaving);
        for (Pool pool : pools) {
            if (pool != null) {
                links.addAll(pool.open);
            }
        }
        links.forEach(link -> link.rsocket.close(ErrorCode.CONNECTION_ERROR,
                "the client is closed"));
    }
}
