// Things that are due once a second: one timer for all, in slots of a tick.
//
// What is added is due a second later for the first time, and up to one tick late. Used by its event loop alone.
package stadium.peers;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

final class Wheel<T> {
    private record Entry<T>(T thing, long firstTick) {}

    private final List<ArrayList<Entry<T>>> slots = new ArrayList<>();
    private final long tickNanos;
    private final long startNanos = System.nanoTime();
    private final Predicate<T> due;
    private long nextTick = 1;

    /** Calls `due` for each thing that is; it answers whether the thing stays. */
    Wheel(ScheduledExecutorService loop, int tickMs, Predicate<T> due) {
        this.tickNanos = TimeUnit.MILLISECONDS.toNanos(tickMs);
        this.due = due;
        for (int slot = 0; slot < 1000 / tickMs; slot++) {
            slots.add(new ArrayList<>());
        }
        loop.scheduleAtFixedRate(this::turn, tickNanos, tickNanos, TimeUnit.NANOSECONDS);
    }

    /** The tick at which something that is added now is due first. */
    long firstTick() {
        return (System.nanoTime() - startNanos) / tickNanos + 1 + slots.size();
    }

    void add(T thing, long firstTick) {
        slot(firstTick).add(new Entry<>(thing, firstTick));
    }

    private ArrayList<Entry<T>> slot(long tick) {
        return slots.get((int) (tick % slots.size()));
    }

    private void turn() {
        long tick = (System.nanoTime() - startNanos) / tickNanos;
        for (; nextTick <= tick; nextTick++) {
            long current = nextTick;
            slot(current).removeIf(entry -> entry.firstTick <= current && !due.test(entry.thing));
        }
    }
}
