package io.stadium.rpc.balance;

/** The hashes of keys, addresses and clients, which are the same in every language. */
public final class Hashes {
    private static final long FNV_OFFSET = 0xcbf29ce484222325L;
    private static final long FNV_PRIME = 0x00000100000001b3L;

    private Hashes() {}

    /**
     * FNV-1a with 64 bits.
     *
     * @param bytes what to hash
     * @return the hash
     */
    public static long fnv(byte[] bytes) {
        long hash = FNV_OFFSET;
        for (byte one : bytes) {
            hash = (hash ^ one & 0xff) * FNV_PRIME;
        }
        return hash;
    }

    /**
     * The output of splitmix64 for a state.
     *
     * @param state the state
     * @return every bit of the state moves about half of its bits
     */
    public static long scramble(long state) {
        long x = state + 0x9e3779b97f4a7c15L;
        x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
        x = (x ^ x >>> 27) * 0x94d049bb133111ebL;
        return x ^ x >>> 31;
    }

    /**
     * The hash of a key, an address or a client's name.
     *
     * @param bytes what to hash
     * @return the hash
     */
    public static long hash(byte[] bytes) {
        return scramble(fnv(bytes));
    }

    /**
     * The part that a key falls into; it is the part that has an order of instances.
     *
     * @param keyHash the hash of the key
     * @return 0 to 65,535
     */
    public static int partition(long keyHash) {
        return (int) (keyHash >>> 48);
    }
}
