package io.stadium.rsocket.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLong;

/** Counts calls of one event loop, and notes the time of each where one is in flight. */
final class Meter {
    private static final int TIMES = 1 << 16;

    private final AtomicLong calls = new AtomicLong();
    private final boolean isTimed;
    private final long[] nanos = new long[TIMES];
    private long count;
    private long lastNanos = System.nanoTime();

    Meter(boolean isTimed) {
        this.isTimed = isTimed;
    }

    /** A call has ended and the next begins. The event loop calls it. */
    void called() {
        count++;
        calls.lazySet(count);
        if (isTimed) {
            long now = System.nanoTime();
            nanos[(int) count & TIMES - 1] = now - lastNanos;
            lastNanos = now;
        }
    }

    /** Waits for some seconds of warm-up and as many of measurement, and describes the latter. */
    String measure(int seconds) throws InterruptedException {
        Thread.sleep(seconds * 1_000L);
        long from = calls.get();
        long begin = System.nanoTime();
        Thread.sleep(seconds * 1_000L);
        long done = calls.get() - from;
        double callsPerSecond = done * 1e9 / (System.nanoTime() - begin);
        if (!isTimed) {
            return String.format("%.0f calls/s", callsPerSecond);
        }
        long[] times = Arrays.copyOf(nanos, (int) Math.min(TIMES, done));
        Arrays.sort(times);
        return String.format("%.1f us", times[times.length / 2] / 1e3);
    }

    /**
     * Waits for some seconds of CPU time as warm-up and as many of measurement, and describes the
     * latter.
     */
    String measureCpu(int seconds) throws InterruptedException {
        OperatingSystemMXBean system =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long begin = system.getProcessCpuTime() + seconds * 1_000_000_000L;
        await(system, begin);
        begin = system.getProcessCpuTime();
        long from = calls.get();
        await(system, begin + seconds * 1_000_000_000L);
        long done = calls.get() - from;
        return String.format("%.0f calls/CPU-s", done * 1e9 / (system.getProcessCpuTime() - begin));
    }

    private static void await(OperatingSystemMXBean system, long cpuNanos)
            throws InterruptedException {
        while (system.getProcessCpuTime() < cpuNanos) {
            Thread.sleep(10);
        }
    }
}
