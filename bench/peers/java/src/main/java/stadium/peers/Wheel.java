// Things that are due once a second: one timer for all, in slots of a tick.
//
// What is added is due a second later for the first time, and up to one tick late. Used by its event loop alone.
package stadium.peers;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

final class Wheel<T> {
    /** What happens to a thing that is due; answers whether it stays. */
    interface Due<T> {
        boolean due(T thing, long tick);
    }

    private record Entry<T>(T thing, long firstTick) {}

    private final List<ArrayList<Entry<T>>> slots = new ArrayList<>();
    private final long tickNanos;
    private final long startNanos = System.nanoTime();
    private final Due<T> due;
    private long nextTick = 1;

    Wheel(ScheduledExecutorService loop, int tickMs, Due<T> due) {
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

    /** Ticks in a second. */
    int ticks() {
        return slots.size();
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
            slot(current).removeIf(entry -> entry.firstTick <= current && !due.due(entry.thing, current));
        }
    }
}
