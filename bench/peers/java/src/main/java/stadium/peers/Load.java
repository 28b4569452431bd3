// The load of one cell: so many calls in flight over so many connections, each answered call followed by the next.
//
// A latency is from before a request is encoded until its answer is decoded and its id compared. Answers of the warm-up and
// of the time after the span are not counted. With fewer calls in flight than connections, a call moves on to the next
// connection when it is answered, so that all of them are used. Not thread-safe: a peer's client calls it from one thread,
// or holds its lock.
package stadium.peers;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

final class Load {
    private static final long LATENCY_MAX_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final int STALL_SECONDS = 30;

    private final Caller[] callers;
    private final boolean moving;
    private final Histogram latencies = new Histogram(LATENCY_MAX_NANOS, 3);
    private final CountDownLatch drained = new CountDownLatch(1);
    private long spanStart;
    private long spanEnd;
    private long nextId = 1;
    private int inFlight;
    private long busy;
    private Used atStart;
    private Used atEnd;

    private Load(int connections, boolean moving) {
        this.callers = new Caller[connections];
        this.moving = moving;
    }

    /** Runs one cell, or with `--series` one for each line of stdin, and prints one line of JSON for each. */
    static void run(Arguments arguments, Opening opening) throws Exception {
        if (!arguments.has("series")) {
            System.out.println(cell(arguments, opening));
            System.exit(0);
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(cell(new Arguments(line.trim().split("\\s+")), opening));
        }
        System.exit(0);
    }

    private static String cell(Arguments arguments, Opening opening) throws Exception {
        int connections = arguments.integer("connections");
        int each = arguments.integer("inflight-each", 0);
        int total = each > 0 ? each * connections : arguments.integer("inflight-total");
        Load load = new Load(connections, total < connections);
        opening.cell(arguments.address("connect"), connections, arguments.integer("elements"));
        for (int index = 0; index < connections; index++) {
            load.callers[index] = opening.open(arguments.address("connect"), arguments.integer("elements"), load);
        }
        return load.measure(opening, total, arguments.number("warm"), arguments.number("seconds"));
    }

    private String measure(Opening opening, int total, double warm, double seconds) throws Exception {
        long now = System.nanoTime();
        spanStart = now + (long) (warm * 1e9);
        spanEnd = spanStart + (long) (seconds * 1e9);
        opening.begin(() -> {
            inFlight = total;
            for (int index = 0; index < total; index++) {
                int connection = index % callers.length;
                callers[connection].call(connection, nextId++, System.nanoTime());
            }
        });
        if (!drained.await((long) (warm + seconds) + STALL_SECONDS, TimeUnit.SECONDS)) {
            System.err.println("stalled with " + inFlight + " calls in flight");
            System.exit(1);
        }
        for (Caller caller : callers) {
            caller.close();
        }
        return String.format(
                Locale.ROOT,
                "{\"per_second\":%.1f,\"p50_us\":%.3f,\"p99_us\":%.3f,\"mean_us\":%.3f,\"client_cpu\":%.3f,"
                        + "\"allocated_bytes\":%.1f,\"busy_per_second\":%.1f}",
                latencies.getTotalCount() / seconds,
                latencies.getValueAtPercentile(50) / 1e3,
                latencies.getValueAtPercentile(99) / 1e3,
                latencies.getMean() / 1e3,
                (atEnd.cpuNanos - atStart.cpuNanos) / (seconds * 1e9),
                (double) (atEnd.allocatedBytes - atStart.allocatedBytes)
                        / Math.max(latencies.getTotalCount(), 1),
                busy / seconds);
    }

    /** The answer to a call; sends the next one. */
    void answered(int connection, long id, long answeredId, long startedNanos) {
        if (id != answeredId) {
            failed(new IllegalStateException("asked " + id + ", got the answer of " + answeredId));
        }
        long now = System.nanoTime();
        if (isInSpan(now)) {
            latencies.recordValue(Math.min(now - startedNanos, LATENCY_MAX_NANOS));
        }
        next(connection, now);
    }

    /** A call was answered Busy, which the orchestrator bounds; sends the next one. */
    void busy(int connection) {
        long now = System.nanoTime();
        if (isInSpan(now)) {
            busy += 1;
        }
        next(connection, now);
    }

    /**
     * Whether an answer counts. The first one of the span, and the first one after it, look at what the process has used: a
     * thread that slept until then could be late on a core that is never idle.
     */
    private boolean isInSpan(long now) {
        if (atStart == null && now - spanStart > 0) {
            atStart = Used.now();
        }
        if (atEnd == null && now - spanEnd > 0) {
            atEnd = Used.now();
        }
        return atStart != null && atEnd == null;
    }

    private void next(int connection, long now) {
        if (now - spanEnd > 0) {
            inFlight -= 1;
            if (inFlight == 0) {
                drained.countDown();
            }
            return;
        }
        int next = moving ? (connection + 1) % callers.length : connection;
        callers[next].call(next, nextId++, now);
    }

    /** A call that is lost makes the whole cell worthless. */
    void failed(Throwable why) {
        why.printStackTrace();
        System.exit(1);
    }

    /** Processor time of the process, and bytes that all live threads have allocated since they started. */
    private record Used(long cpuNanos, long allocatedBytes) {
        static Used now() {
            var system = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
            var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            long sum = 0;
            for (long bytes : threads.getThreadAllocatedBytes(threads.getAllThreadIds())) {
                sum += Math.max(bytes, 0);
            }
            return new Used(system.getProcessCpuTime(), sum);
        }
    }
}
