package io.stadium.rpc.bench;

import com.sun.management.ThreadMXBean;
import io.stadium.rpc.Codec;
import io.stadium.rpc.EchoServer;
import io.stadium.rpc.Method;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.client.AnswerHandler;
import io.stadium.rpc.client.CallOptions;
import io.stadium.rpc.client.RpcClient;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Measures calls of a client with all its guards to the Rust echo server.
 *
 * <pre>
 * STADIUM_ECHO_SERVER=.../echo_server taskset -c 1 java -cp ... CallBench connections=1 \
 *         inflight=200 bytes=48 pin=0
 * </pre>
 *
 * <p>Settings are {@code key=value}: {@code connections}, {@code inflight} (calls in flight on all
 * connections together), {@code bytes} (16 and a multiple of 16), {@code seconds}, {@code rounds},
 * {@code spin} (microseconds, 0 for none), {@code form} (handler, blocking), {@code idempotent},
 * {@code pin} (the server's core), {@code server} (an address, instead of one that is started). A
 * round warms up as long as it measures. With one call in flight it prints the median round trip,
 * otherwise calls in a second. CPU time and allocated bytes are those of the event loop: figures
 * that other processes of a busy machine disturb less.
 */
public final class CallBench implements AnswerHandler<byte[]> {
    private static final int TIMES = 1 << 16;
    private static final ThreadMXBean THREADS =
            (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final RpcClient client;
    private final Method<byte[], byte[]> method;
    private final byte[] request;
    private final AtomicLong calls = new AtomicLong();
    private final AtomicLong failures = new AtomicLong();
    private final long[] nanos = new long[TIMES];
    private long count;
    private long lastNanos = System.nanoTime();
    private volatile Thread loop;
    private volatile boolean isOver;

    private CallBench(RpcClient client, Method<byte[], byte[]> method, byte[] request) {
        this.client = client;
        this.method = method;
        this.request = request;
    }

    /**
     * Runs the rounds.
     *
     * @param arguments the settings
     * @throws Exception if the server cannot be started
     */
    public static void main(String[] arguments) throws Exception {
        Map<String, String> settings = new TreeMap<>();
        for (String argument : arguments) {
            String[] setting = argument.split("=", 2);
            settings.put(setting[0], setting[1]);
        }
        int inflight = number(settings, "inflight", 200);
        String pin = settings.get("pin");
        EchoServer server = settings.containsKey("server") ? null : EchoServer.start(
                pin == null ? List.of() : List.of("taskset", "-c", pin),
                System.getenv("STADIUM_ECHO_SERVER"));
        String address = server == null ? settings.get("server") : server.address();
        Method<byte[], byte[]> method = Method.unary("echo/Echo", Codec.BYTES, Codec.BYTES);
        if (settings.getOrDefault("idempotent", "false").equals("true")) {
            method = method.idempotent();
        }
        try (RpcClient client = RpcClient.builder()
                .instances(address)
                .connectionsPerInstance(number(settings, "connections", 1))
                .busyPoll(Duration.ofNanos(number(settings, "spin", 50) * 1_000L))
                .start()) {
            byte[] request = EchoServer.sample(7, (number(settings, "bytes", 48) - 16) / 16);
            client.callBlocking(method, request);
            CallBench bench = new CallBench(client, method, request);
            boolean isBlocking = settings.getOrDefault("form", "handler").equals("blocking");
            for (int nth = 0; nth < inflight; nth++) {
                if (isBlocking) {
                    Thread caller = new Thread(bench::callForever);
                    caller.setDaemon(true);
                    caller.start();
                } else {
                    bench.call();
                }
            }
            int seconds = number(settings, "seconds", 3);
            for (int round = number(settings, "rounds", 1); round > 0; round--) {
                System.out.println(bench.measure(seconds, inflight == 1));
            }
            bench.isOver = true;
        } finally {
            if (server != null) {
                server.close();
            }
        }
        System.exit(0);
    }

    private static int number(Map<String, String> settings, String key, int otherwise) {
        return Integer.parseInt(settings.getOrDefault(key, Integer.toString(otherwise)));
    }

    private void call() {
        client.call(method, request, CallOptions.DEFAULT, this);
    }

    private void callForever() {
        while (!isOver) {
            try {
                client.callBlocking(method, request);
                synchronized (this) {
                    called();
                }
            } catch (RpcException e) {
                failures.incrementAndGet();
            }
        }
    }

    private void called() {
        count++;
        calls.lazySet(count);
        long now = System.nanoTime();
        nanos[(int) count & TIMES - 1] = now - lastNanos;
        lastNanos = now;
    }

    @Override
    public void onAnswer(byte[] answer) {
        if (loop == null) {
            loop = Thread.currentThread();
        }
        called();
        call();
    }

    @Override
    public void onFailure(RpcException failure) {
        if (failures.getAndIncrement() == 0) {
            System.err.println("the first failure: " + failure);
        }
        if (!isOver) {
            call();
        }
    }

    private String measure(int seconds, boolean isTimed) throws InterruptedException {
        Thread.sleep(seconds * 1_000L);
        long from = calls.get();
        long failed = failures.get();
        long allocated = allocated();
        long cpu = cpuNanos();
        long begin = System.nanoTime();
        Thread.sleep(seconds * 1_000L);
        long done = calls.get() - from;
        double callsPerSecond = done * 1e9 / (System.nanoTime() - begin);
        long bytes = (allocated() - allocated) / Math.max(done, 1);
        String rest = ", " + (cpuNanos() - cpu) / Math.max(done, 1) + " CPU-ns/call of the loop, "
                + bytes + " bytes/call, " + (failures.get() - failed) + " failed";
        if (!isTimed) {
            return String.format("%.0f calls/s", callsPerSecond) + rest;
        }
        long[] times = Arrays.copyOf(nanos, (int) Math.min(TIMES, done));
        Arrays.sort(times);
        return String.format("%.1f us", times[times.length / 2] / 1e3) + rest;
    }

    private long allocated() {
        Thread its = loop;
        return its == null ? 0 : THREADS.getThreadAllocatedBytes(its.getId());
    }

    private long cpuNanos() {
        Thread its = loop;
        return its == null ? 0 : THREADS.getThreadCpuTime(its.getId());
    }
}
