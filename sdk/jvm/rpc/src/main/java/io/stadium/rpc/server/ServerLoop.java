package io.stadium.rpc.server;

import io.netty.channel.EventLoop;
import io.stadium.rpc.admission.LeaseShares;
import io.stadium.rpc.admission.Limiter;
import io.stadium.rpc.admission.LoadSignal;
import io.stadium.rpc.admission.WaitingCalls;
import io.stadium.rpc.server.Counts.Figure;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Interaction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;

/**
 * The server's half of one event loop: its connections, its calls under way, its admission, and
 * what is done by the clock. All fields belong to the loop's thread.
 */
final class ServerLoop {
    /** Between two readings of load, grants of leases and looks at quiescing, in milliseconds. */
    private static final int HOUSEKEEPING_MS = 250;

    /** How long a lease holds. It is granted anew in a quarter of that time. */
    static final int LEASE_MS = HOUSEKEEPING_MS * 4;

    /** Requests granted to a client that has just connected, before its use is known. */
    static final int FIRST_LEASE = 1_000;

    /**
     * How long clients may take to notice that the instance quiesces, in milliseconds. Calls of
     * those that have not noticed are served until then.
     */
    private static final int QUIESCE_NOTICE_MS = 500;

    /** Requests each second that a loop is thought to do before it has measured any. */
    private static final double CAPACITY_UNMEASURED = 10_000;

    private static final LeaseShares.Settings LEASES = new LeaseShares.Settings(
            LEASE_MS, LeaseShares.Settings.DEFAULT.growth(),
            LeaseShares.Settings.DEFAULT.clientMin());

    private final RpcServer server;
    private final EventLoop eventLoop;
    private final long startNanos = System.nanoTime();
    private final Counts counts;
    private final Dispatcher dispatcher;
    private final Pace pace = new Pace();
    private final Limiter limiter;
    private final WaitingCalls<Work> waiting;
    private final LoadSignal signal = new LoadSignal();
    private final Deadlines deadlines = new Deadlines();
    private final Set<ServerConnection> connections = new LinkedHashSet<>();

    /** Fire-and-forget calls too, which no connection knows. */
    private int inflight;

    private int streams;
    private final Runnable turnEnd = this::turnEnds;
    private ScheduledFuture<?> timer;
    private long timerNanos;
    private long readBusyNs;
    private long readNanos = startNanos;
    private boolean isQuiescing;
    private long quiescingSinceNanos;

    ServerLoop(RpcServer server, EventLoop eventLoop) {
        this.server = server;
        this.eventLoop = eventLoop;
        RpcServerBuilder settings = server.settings();
        counts = new Counts(server.routes().all().size());
        limiter = new Limiter(Limiter.Settings.DEFAULT.between(
                settings.concurrencyInitial, settings.concurrencyMin, settings.concurrencyMax));
        WaitingCalls.Settings queue = WaitingCalls.Settings.DEFAULT;
        waiting = new WaitingCalls<>(new WaitingCalls.Settings(
                settings.queueMax, queue.targetUs(), queue.intervalUs()));
        dispatcher = new Dispatcher(this, server);
        eventLoop.scheduleAtFixedRate(
                this::keepHouse, HOUSEKEEPING_MS, HOUSEKEEPING_MS, TimeUnit.MILLISECONDS);
    }

    Dispatcher dispatcher() {
        return dispatcher;
    }

    Workers streamWorkers() {
        return server.streamWorkers();
    }

    Counts counts() {
        return counts;
    }

    Pace pace() {
        return pace;
    }

    boolean isQuiescing() {
        return isQuiescing;
    }

    /** Whether clients have had the time to notice that the instance quiesces. */
    boolean refusesAll() {
        return isQuiescing && pace.lookedAt() - quiescingSinceNanos
                >= TimeUnit.MILLISECONDS.toNanos(QUIESCE_NOTICE_MS);
    }

    /** Any thread: runs a task on the loop. After the server's end it is dropped. */
    void execute(Runnable task) {
        if (eventLoop.inEventLoop()) {
            task.run();
            return;
        }
        try {
            eventLoop.execute(task);
        } catch (RejectedExecutionException e) {
            // The loop has ended, and with it all connections: there is nobody to answer.
        }
    }

    /** Any thread: runs a task on the loop after what the loop is doing. */
    void executeLater(Runnable task) {
        try {
            eventLoop.execute(task);
        } catch (RejectedExecutionException e) {
            // As in execute.
        }
    }

    /** The loop's clock in microseconds, more than 0. */
    long micros(long nanoTime) {
        return (nanoTime - startNanos) / 1_000 + 1;
    }

    long nowUs() {
        return micros(pace.lookedAt());
    }

    /** Reads the clock, once a turn. */
    void turnBegins() {
        if (!pace.isInTurn()) {
            pace.turnBegins(System.nanoTime());
            executeLater(turnEnd);
        }
    }

    private void turnEnds() {
        int measured = pace.turnEnds(System.nanoTime());
        if (measured > 0) {
            dispatcher.measured(measured);
        }
        startWaiting();
    }

    void add(ServerConnection connection) {
        connections.add(connection);
        counts.set(Figure.CONNECTIONS, connections.size());
        if (connection.isPeer()) {
            signal.reportAgain();
        }
    }

    void remove(ServerConnection connection) {
        connections.remove(connection);
        counts.set(Figure.CONNECTIONS, connections.size());
    }

    /** Notes a call that outlives its turn. */
    void began(Work work) {
        counts.set(Figure.INFLIGHT, ++inflight);
        if (isStream(work)) {
            counts.set(Figure.STREAMS, ++streams);
        }
        if (work.deadlineNanos != Long.MAX_VALUE) {
            deadlines.add(work);
            arm();
        }
    }

    /** Counts a call that outlived its turn. */
    void ended(Work work, Outcome outcome) {
        counts.set(Figure.INFLIGHT, --inflight);
        if (isStream(work)) {
            counts.set(Figure.STREAMS, --streams);
        }
        deadlines.remove(work);
        long took = pace.lookedAt() - work.beganNanos;
        if (outcome == Outcome.OK && !isStream(work)) {
            counts.latency(work.route, took / 1_000, 1);
        }
        finished(work.route, outcome, took);
    }

    private static boolean isStream(Work work) {
        return work.route.interaction == Interaction.REQUEST_STREAM
                || work.route.interaction == Interaction.REQUEST_CHANNEL;
    }

    /** Counts a call, and notifies the interceptors. */
    void finished(Route route, Outcome outcome, long tookNanos) {
        counts.count(route, outcome);
        if (route.interceptors.length > 0) {
            Interceptor.Finished finished = new Interceptor.Finished(
                    route.name, outcome, Duration.ofNanos(Math.max(tookNanos, 0)));
            for (int nth = route.interceptors.length - 1; nth >= 0; nth--) {
                try {
                    route.interceptors[nth].after(finished);
                } catch (RuntimeException e) {
                    Dispatcher.LOG.error("Interceptor failed: route={}", route.name, e);
                }
            }
        }
    }

    /** Whether a call may begin that takes longer than its turn; it leaves by {@link #left}. */
    boolean tryEnter() {
        return limiter.tryEnter(nowUs());
    }

    void left(long enteredUs, Limiter.Work work) {
        limiter.left(enteredUs, work, nowUs());
    }

    void abandonEntry() {
        left(nowUs(), Limiter.Work.ABANDONED);
    }

    /** Lets a call wait for the limit. Returns whether it has a place. */
    boolean holdBack(Work work) {
        WaitingCalls.Fate fate = waiting.push(work);
        if (fate == WaitingCalls.Fate.FULL) {
            return false;
        }
        turnAway(fate);
        return true;
    }

    int queueRetryAfterMs() {
        return waiting.retryAfterMs();
    }

    int retryAfterMs() {
        return signal.retryAfterMs();
    }

    private void turnAway(WaitingCalls.Fate fate) {
        switch (fate) {
            case EXPIRED -> waiting.taken().expire();
            case STALE -> waiting.taken().refuse(Refusal.busy(
                    retryAfterMs(), "the call has waited for too long"));
            default -> {}
        }
    }

    /** Calls that waited begin, as far as others have left. */
    private void startWaiting() {
        while (waiting.size() > 0 && limiter.tryEnter(nowUs())) {
            WaitingCalls.Fate fate = waiting.pop(nowUs());
            Work work = null;
            while (fate != WaitingCalls.Fate.EMPTY && work == null) {
                if (fate == WaitingCalls.Fate.WORK) {
                    Work next = waiting.taken();
                    work = next.isEnded() ? null : next;
                } else {
                    turnAway(fate);
                }
                fate = work == null ? waiting.pop(nowUs()) : fate;
            }
            if (work == null) {
                abandonEntry();
                return;
            }
            work.entered(nowUs());
            dispatcher.startHeld(work);
        }
    }

    /** Has the timer fire at the first deadline. */
    private void arm() {
        Work first = deadlines.first();
        if (first == null || timer != null && timerNanos - first.deadlineNanos <= 0) {
            return;
        }
        if (timer != null) {
            timer.cancel(false);
        }
        timerNanos = first.deadlineNanos;
        timer = eventLoop.schedule(
                this::onTimer, Math.max(timerNanos - System.nanoTime(), 0), TimeUnit.NANOSECONDS);
    }

    private void onTimer() {
        timer = null;
        turnBegins();
        long now = System.nanoTime();
        Work work = deadlines.first();
        while (work != null && work.deadlineNanos - now <= 0) {
            work.expire();
            work = deadlines.first();
        }
        arm();
    }

    private void keepHouse() {
        turnBegins();
        long now = System.nanoTime();
        long busy = pace.busyNs() - readBusyNs;
        long idle = Math.max(now - readNanos - busy, 0);
        readBusyNs = pace.busyNs();
        readNanos = now;
        long nowUs = micros(now);
        signal.read(new LoadSignal.Reading(
                limiter.inflight(), limiter.limit(), waiting.fill(),
                waiting.size() == 0 ? 0 : waiting.retryAfterMs(), busy, idle), nowUs);
        counts.set(Figure.LOAD_THOUSANDTHS, Math.round(signal.factor() * 1000));
        counts.set(Figure.LIMIT, limiter.limit());
        counts.set(Figure.QUEUED, waiting.size());
        if (signal.report(nowUs)) {
            pushLoad();
        }
        grantLeases();
        cutUnfinished();
        List.copyOf(connections).forEach(ServerConnection::retryDeferred);
        if (refusesAll()) {
            for (ServerConnection connection : List.copyOf(connections)) {
                if (connection.rsocket().streamsOpen() == 0) {
                    connection.rsocket().close(
                            ErrorCode.CONNECTION_CLOSE, "the instance quiesces");
                }
            }
        }
    }

    private void pushLoad() {
        for (ServerConnection connection : connections) {
            if (connection.isPeer()) {
                connection.pushLoad(signal.factor(), isQuiescing);
            }
        }
    }

    private void grantLeases() {
        List<ServerConnection> askers = new ArrayList<>();
        for (ServerConnection connection : connections) {
            if (connection.isLeased()) {
                askers.add(connection);
            }
        }
        if (askers.isEmpty()) {
            return;
        }
        int[] used = askers.stream().mapToInt(ServerConnection::takeUsed).toArray();
        int[] granted = isQuiescing ? LeaseShares.quiescing(used.length)
                : LeaseShares.divide(LEASES, capacity(), used);
        for (int nth = 0; nth < granted.length; nth++) {
            // No requests are no grant: the last one runs out.
            if (granted[nth] > 0) {
                askers.get(nth).rsocket().grantLease(LEASE_MS, granted[nth]);
            }
        }
    }

    /** The least of what the kinds of functions can do that were called at all. */
    private double capacity() {
        double inline = pace.eachNs() > 0 ? 1e9 / pace.eachNs() : Double.NaN;
        double others = limiter.capacityPerSecond();
        if (Double.isNaN(inline)) {
            return Double.isNaN(others) ? CAPACITY_UNMEASURED : others;
        }
        return Double.isNaN(others) ? inline : Math.min(inline, others);
    }

    /** Closes the connections that hold most, where all of the server hold too many bytes. */
    private void cutUnfinished() {
        long held = 0;
        for (ServerConnection connection : connections) {
            held += connection.rsocket().unfinishedBytes();
        }
        long over = server.overUnfinished(this, held);
        if (over <= 0 || held == 0) {
            return;
        }
        List<ServerConnection> holders = new ArrayList<>(connections);
        holders.sort(Comparator.comparingLong(
                (ServerConnection one) -> -one.rsocket().unfinishedBytes()));
        for (ServerConnection connection : holders) {
            long bytes = connection.rsocket().unfinishedBytes();
            if (over <= 0 || bytes == 0) {
                return;
            }
            over -= bytes;
            counts.add(Figure.CUT_UNFINISHED, 1);
            Dispatcher.LOG.warn(
                    "Connection closed: unfinished frames are too many bytes, and it holds most:"
                            + " peer={} bytes={}",
                    connection.peer(), bytes);
            connection.rsocket().close(ErrorCode.CONNECTION_ERROR,
                    "unfinished frames of this server's connections are too many bytes, and this"
                            + " one holds most");
        }
    }

    /** The instance leaves: clients are notified now. */
    void quiesce() {
        if (!isQuiescing) {
            turnBegins();
            isQuiescing = true;
            quiescingSinceNanos = System.nanoTime();
            pushLoad();
        }
    }

    /** The server ends: what is left is closed. */
    void closeAll() {
        for (ServerConnection connection : List.copyOf(connections)) {
            connection.rsocket().close(ErrorCode.CONNECTION_ERROR, "the server ends");
        }
    }
}
