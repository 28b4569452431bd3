package io.stadium.rsocket.netty;

/**
 * The bounds of a connection's outgoing queue.
 *
 * @param readingStopsAt bytes in the outgoing queue above which a server reads nothing from the
 *     client, so that it gets no more answers than it takes. Reading continues at half of them. A
 *     client goes on reading, so that the two never wait for each other
 * @param outgoingBytesMax bytes in the outgoing queue above which the connection is closed: its
 *     peer reads too slowly for what the application sends
 * @param stallMs milliseconds after which the connection is closed if the queue is above
 *     {@code readingStopsAt} and the peer takes nothing; it may take twice as long
 */
public record TransportOptions(int readingStopsAt, int outgoingBytesMax, int stallMs) {
    /** Reading stops at 256 KiB; closed above 64 MiB or after 30 seconds. */
    public static final TransportOptions DEFAULT = new TransportOptions(256 * 1024,
            64 * 1024 * 1024, 30_000);

    /**
     * Checks the bounds.
     *
     * @param readingStopsAt at least 2
     * @param outgoingBytesMax at least {@code readingStopsAt}
     * @param stallMs at least 1
     */
    public TransportOptions {
        if (readingStopsAt < 2 || outgoingBytesMax < readingStopsAt || stallMs < 1) {
            throw new IllegalArgumentException(
                    "bounds must be positive, and outgoingBytesMax at least readingStopsAt: "
                            + readingStopsAt + ", " + outgoingBytesMax + ", " + stallMs);
        }
    }
}
