package io.stadium.rpc.registry;

import io.stadium.rpc.discovery.InstanceValue;
import io.stadium.rpc.discovery.InstanceValue.State;
import io.stadium.rpc.server.Registrar;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** An entry that is kept in the tree. What is wanted may change by any thread. */
final class RegistryEntry implements Registrar.Registration {
    /** A load factor is written when it changed by more than this. */
    private static final float LOAD_STEP = 0.05f;

    /** The least time between two writes of a load factor. */
    private static final long WRITE_NANOS = TimeUnit.SECONDS.toNanos(1);

    final String path;
    private final Registry registry;
    private final InstanceValue first;
    private volatile float load;
    private volatile boolean isUnwanted;
    private final CompletableFuture<Void> gone = new CompletableFuture<>();

    /** Fields from here on belong to the registry's thread. */
    private float written;

    private long writtenNanos;

    RegistryEntry(Registry registry, String path, InstanceValue first) {
        this.registry = registry;
        this.path = path;
        this.first = first;
        load = first.load();
    }

    @Override
    public void load(float factor) {
        if (Float.isFinite(factor) && factor >= 0) {
            load = factor;
            if (Math.abs(factor - written) > LOAD_STEP) {
                registry.wake();
            }
        }
    }

    @Override
    public boolean withdraw(Duration within) {
        isUnwanted = true;
        registry.wake();
        try {
            gone.get(Math.max(within.toNanos(), 0), TimeUnit.NANOSECONDS);
            return true;
        } catch (TimeoutException | ExecutionException e) {
            return false;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    boolean isUnwanted() {
        return isUnwanted;
    }

    /** Makes the entry there and true. */
    void keep(RegistrySession session) throws Exception {
        float now = load;
        session.keep(path, value(now, State.SERVING));
        written = now;
        writtenNanos = System.nanoTime();
    }

    /** Writes a changed load. Returns in how many nanoseconds it is to be written. */
    long writeIfDue(RegistrySession session, long now) throws Exception {
        if (Math.abs(load - written) <= LOAD_STEP) {
            return Long.MAX_VALUE;
        }
        long left = writtenNanos + WRITE_NANOS - now;
        if (left > 0) {
            return left;
        }
        keep(session);
        return Long.MAX_VALUE;
    }

    void withdraw(RegistrySession session) throws Exception {
        session.withdraw(path, value(load, State.QUIESCING));
        gone.complete(null);
    }

    private byte[] value(float factor, State state) {
        return new InstanceValue(factor, first.zone(), first.weight(), state).write();
    }
}
