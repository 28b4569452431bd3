package io.stadium.memcache;

import io.stadium.memcache.driver.Connection;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** One server of a client: its connection, and whether it is ejected. */
final class Server {
    final Connection connection;

    /** Failures in a row that lead to ejection; 0 for never. */
    private final int ejectAfter;
    private final long ejectFor;
    private final long begun = System.nanoTime();
    private final AtomicInteger failures = new AtomicInteger();
    /** Nanoseconds after {@code begun} when the next trial may be; 0 when it is not ejected. */
    private final AtomicLong trialAt = new AtomicLong();

    Server(Connection connection, int ejectAfter, long ejectFor) {
        this.connection = connection;
        this.ejectAfter = ejectAfter;
        this.ejectFor = ejectFor;
    }

    /** True where an operation may go there: to an ejected server one in each {@code ejectFor}. */
    boolean admits() {
        long at = trialAt.get();
        if (at == 0) {
            return true;
        }
        long now = now();
        return now >= at && trialAt.compareAndSet(at, now + ejectFor);
    }

    boolean isEjected() {
        return trialAt.get() != 0;
    }

    /** Notes how an operation ended; {@code null} for well. */
    void note(MemcacheException error) {
        if (ejectAfter == 0) {
            return;
        }
        if (error == null || !error.isOfServer()) {
            // After the others the server was not asked.
            boolean isAnswered = error == null || error instanceof ServerError
                    || error instanceof ClientError || error instanceof Uncertain;
            if (isAnswered && failures.get() > 0) {
                failures.set(0);
                trialAt.set(0);
            }
            return;
        }
        if (failures.incrementAndGet() >= ejectAfter) {
            // At least half of it: the clients of one server do not try it together.
            double part = 0.5 + ThreadLocalRandom.current().nextDouble() / 2;
            trialAt.set(now() + (long) (ejectFor * part));
        }
    }

    private long now() {
        // From 1: 0 means that it is not ejected.
        return System.nanoTime() - begun + 1;
    }
}
