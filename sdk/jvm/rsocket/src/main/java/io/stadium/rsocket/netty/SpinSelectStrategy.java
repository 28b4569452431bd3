package io.stadium.rsocket.netty;

import io.netty.channel.SelectStrategy;
import io.netty.util.IntSupplier;

/**
 * Polls for I/O without sleeping for a while after the last activity, then lets the event loop
 * sleep.
 *
 * <p>A short spin saves the wake-up of a thread, which costs more than a request. It occupies a
 * core meanwhile, so it is of no use where threads share one.
 */
final class SpinSelectStrategy implements SelectStrategy {
    private final long spinNanos;
    private long activeNanos = System.nanoTime();

    SpinSelectStrategy(int spinMicros) {
        spinNanos = spinMicros * 1_000L;
    }

    @Override
    public int calculateStrategy(IntSupplier selectNow, boolean hasTasks) throws Exception {
        int ready = selectNow.get();
        if (ready > 0 || hasTasks) {
            activeNanos = System.nanoTime();
            return ready;
        }
        if (System.nanoTime() - activeNanos >= spinNanos) {
            return SELECT;
        }
        Thread.onSpinWait();
        // The loop runs its tasks, the scheduled ones too, and polls again.
        return CONTINUE;
    }
}
