package io.stadium.rpc.balance;

/**
 * The report of discovery about an instance.
 *
 * @param address {@code HOST:PORT}, which makes it this instance and no other
 * @param load the load factor that it published last: 0 is idle, 1 is full
 * @param zone where it stands; empty where that is not known
 * @param weight its share of the calls beside the others', 100 being usual; with 0 it gets none
 * @param version the version of the service that it runs
 * @param isQuiescing whether it leaves, and gets no new calls
 */
public record Known(
        String address, float load, String zone, long weight, String version,
        boolean isQuiescing) {
    /**
     * An instance of which only the address is known.
     *
     * @param address {@code HOST:PORT}
     * @return the instance
     */
    public static Known at(String address) {
        return new Known(address, 0, "", 100, "", false);
    }
}
