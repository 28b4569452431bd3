package io.stadium.memcache;

import io.stadium.memcache.protocol.Operation;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/**
 * Values that are made anew by one client while the others keep the old one.
 *
 * <p>The server elects the one: flags {@code W}, {@code X} and {@code Z} of the meta protocol.
 */
final class Recaching {
    /** The first pause of a caller that waits for another one to make the value. */
    private static final long PAUSE_MIN = TimeUnit.MILLISECONDS.toNanos(1);

    /** Its longest pause. */
    private static final long PAUSE_MAX = TimeUnit.MILLISECONDS.toNanos(50);

    private Recaching() {}

    static Lookup lookup(ClientCore core, Operation operation, Recache how) {
        operation.expiry = how.leaseOnWire();
        operation.recacheSeconds = how.earlySeconds();
        Operation answer = core.read(operation);
        if (answer.outcome != Operation.Outcome.DONE) {
            // With `N` there is no miss; a server that could not make the empty item has one.
            throw new ServerError("the server made no item to wait for");
        }
        Value value = core.value(answer);
        boolean isEmpty = value.bytes().length == 0 && !answer.isStale;
        if (answer.won) {
            return isEmpty ? new Lookup.Make(answer.number) : new Lookup.Won(value);
        }
        if (answer.isTaken && isEmpty) {
            return new Lookup.Made();
        }
        return answer.isTaken || answer.isStale ? new Lookup.Stale(value) : new Lookup.Fresh(value);
    }

    static <K, E extends Exception> Value readThrough(
            MemcacheOperations<K> client, K key, Recache how, Expiry expiry,
            MemcacheOperations.Maker<E> make) throws E {
        long deadline = System.nanoTime() + client.timeout;
        long pause = PAUSE_MIN;
        while (true) {
            Lookup found = client.lookup(key, how);
            if (found instanceof Lookup.Fresh fresh) {
                return fresh.value();
            } else if (found instanceof Lookup.Stale stale) {
                return stale.value();
            } else if (found instanceof Lookup.Won won) {
                return make(client, key, won.value().cas(), expiry, make);
            } else if (found instanceof Lookup.Make missing) {
                return make(client, key, missing.cas(), expiry, make);
            }
            long left = deadline - System.nanoTime();
            if (left <= 0) {
                throw new DeadlineExceeded();
            }
            // At least half of it: many callers may wait for one value.
            double part = 0.5 + ThreadLocalRandom.current().nextDouble() / 2;
            try {
                TimeUnit.NANOSECONDS.sleep((long) (Math.min(pause, left) * part));
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
                throw new Interrupted();
            }
            pause = Math.min(pause * 2, PAUSE_MAX);
        }
    }

    private static <K, E extends Exception> Value make(
            MemcacheOperations<K> client, K key, long cas, Expiry expiry,
            MemcacheOperations.Maker<E> make) throws E {
        byte[] bytes = make.make();
        // Another client may have stored or deleted it meanwhile: its value is newer.
        client.cas(key, bytes, cas, expiry).await();
        return new Value(bytes, 0, 0);
    }
}
