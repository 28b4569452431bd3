package io.stadium.examples.geo;

import geo.v1.GeoEvent;
import geo.v1.GeoMethods;
import io.stadium.rpc.Busy;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.client.RpcClient;
import java.util.Arrays;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Stores random events, so many calls under way at once, and prints what became of them. */
final class Storm {
    private final RpcClient client;
    private final int events;
    private final int devices;
    private final int inFlight;
    private final Semaphore room;
    private final AtomicInteger stored = new AtomicInteger();
    private final AtomicInteger busy = new AtomicInteger();
    private final AtomicInteger rejected = new AtomicInteger();
    private final AtomicInteger failed = new AtomicInteger();

    /** The first that was neither stored nor busy. */
    private final AtomicReference<Throwable> why = new AtomicReference<>();

    /** Nanoseconds of those that were stored. */
    private final long[] latencies;

    Storm(RpcClient client, int events, int devices, int inFlight) {
        this.client = client;
        this.events = events;
        this.devices = devices;
        this.inFlight = inFlight;
        room = new Semaphore(inFlight);
        latencies = new long[events];
    }

    /** The exit code of the program. */
    int run() throws InterruptedException {
        long began = System.nanoTime();
        for (int nth = 0; nth < events; nth++) {
            room.acquire();
            GeoEvent event = random();
            long beganCall = System.nanoTime();
            client.call(GeoMethods.STORE, event, GeoClient.about(event.getDeviceId()))
                    .whenComplete((answer, failure) -> ended(beganCall, failure));
        }
        room.acquire(inFlight);
        report((System.nanoTime() - began) / 1e9);
        return why.get() == null ? 0 : 1;
    }

    private void ended(long began, Throwable failure) {
        if (failure == null) {
            latencies[stored.getAndIncrement()] = System.nanoTime() - began;
        } else if (failure instanceof Busy) {
            busy.incrementAndGet();
        } else {
            (failure instanceof Rejected ? rejected : failed).incrementAndGet();
            why.compareAndSet(null, failure);
        }
        room.release();
    }

    private GeoEvent random() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        return GeoEvent.newBuilder()
                .setDeviceId("device-" + random.nextInt(devices))
                .setTimestampMs(System.currentTimeMillis())
                .setLatitude(random.nextDouble(-90, 90))
                .setLongitude(random.nextDouble(-180, 180))
                .setSignificanceValue(random.nextInt(10) == 0 ? 1 : 0)
                .build();
    }

    private void report(double seconds) {
        int count = stored.get();
        System.out.printf("%d stored, %d busy, %d rejected, %d failed in %.2f s%n",
                count, busy.get(), rejected.get(), failed.get(), seconds);
        if (count > 0) {
            Arrays.sort(latencies, 0, count);
            System.out.printf("%.0f stored/s; latency p50 %.3f ms, p99 %.3f ms, max %.3f ms%n",
                    count / seconds, ms(0.5, count), ms(0.99, count), ms(1, count));
        }
        if (why.get() != null) {
            System.err.println("geo-client: " + (rejected.get() + failed.get())
                    + " events were not stored, the first one: " + why.get().getMessage());
        }
    }

    private double ms(double part, int count) {
        return latencies[(int) (part * (count - 1))] / (double) TimeUnit.MILLISECONDS.toNanos(1);
    }
}
