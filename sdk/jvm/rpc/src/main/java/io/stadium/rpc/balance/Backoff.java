package io.stadium.rpc.balance;

/**
 * How long to wait before a connection is tried again: longer each time, and drawn by lot, so that
 * clients that lost a server together do not reconnect together.
 */
public final class Backoff {
    private final long baseMs;
    private final long maxMs;
    private long lastMs;

    /**
     * Creates waits between two bounds.
     *
     * @param baseMs the shortest, at least 1; default 50
     * @param maxMs the longest, at least {@code baseMs}; default 5,000
     */
    public Backoff(long baseMs, long maxMs) {
        this.baseMs = Math.max(baseMs, 1);
        this.maxMs = Math.max(maxMs, this.baseMs);
        lastMs = this.baseMs;
    }

    /**
     * The next wait.
     *
     * @param random draws it
     * @return milliseconds
     */
    public long waitMs(RandomNumbers random) {
        long tripled = lastMs > maxMs / 3 ? maxMs : lastMs * 3;
        lastMs = random.within(baseMs, Math.max(Math.min(tripled, maxMs), baseMs));
        return lastMs;
    }

    /** It worked: the next wait is a short one again. */
    public void reset() {
        lastMs = baseMs;
    }
}
