package io.stadium.rpc.admission;

import java.util.Arrays;

/**
 * How many requests each client may send until its lease ends.
 *
 * <p>A client that asks for little gets it; those that ask for more get equal shares of the rest.
 * Capacity that nobody asked for is divided evenly on top, so that a client which becomes active
 * can begin at once. docs/rpc-guards.md, Leases, specifies each step.
 */
public final class LeaseShares {
    /** Requests that a grant can express: RSocket counts them in 31 bits. */
    private static final long REQUESTS_MAX = Integer.MAX_VALUE;

    private static final double CAPACITY_MAX = 1e15;
    private static final long WISH_MAX = 0xFFFF_FFFFL;

    private LeaseShares() {}

    /**
     * What grants are made from.
     *
     * @param ttlMs how long a grant holds, in milliseconds
     * @param growth how much more than it used a client is thought to want next
     * @param clientMin requests that each client may send in any case
     */
    public record Settings(int ttlMs, double growth, int clientMin) {
        /** The defaults of docs/rpc-guards.md. */
        public static final Settings DEFAULT = new Settings(5_000, 2.0, 1);
    }

    /**
     * The grants of an instance that quiesces: none.
     *
     * @param clients how many clients there are
     * @return 0 for each
     */
    public static int[] quiescing(int clients) {
        return new int[clients];
    }

    /**
     * Divides what the instance can do.
     *
     * @param settings the settings
     * @param perSecond requests each second that the instance can do; a figure that is not finite
     *     is 0
     * @param used requests that each client sent during its last grant, unsigned
     * @return requests that each client may send, in the same order
     */
    public static int[] divide(Settings settings, double perSecond, int[] used) {
        int clients = used.length;
        long[][] wishes = new long[clients][];
        for (int client = 0; client < clients; client++) {
            double wish = Math.ceil(Integer.toUnsignedLong(used[client]) * settings.growth);
            long atLeast = Math.max(Math.min((long) wish, WISH_MAX), settings.clientMin);
            wishes[client] = new long[] {atLeast, client};
        }
        Arrays.sort(wishes, (one, other) -> Long.compare(one[0], other[0]));
        double capacity = Double.isFinite(perSecond) ? Math.max(perSecond, 0) : 0;
        long left = (long) Math.min(capacity * settings.ttlMs / 1_000, CAPACITY_MAX);
        int[] granted = new int[clients];
        long[] shares = new long[clients];
        for (int nth = 0; nth < clients; nth++) {
            long share = Math.min(wishes[nth][0], left / (clients - nth));
            shares[(int) wishes[nth][1]] = share;
            left -= share;
        }
        long extra = clients == 0 ? 0 : left / clients;
        for (int client = 0; client < clients; client++) {
            long share = Math.min(shares[client] + extra, REQUESTS_MAX);
            granted[client] = (int) Math.max(share, settings.clientMin);
        }
        return granted;
    }
}
