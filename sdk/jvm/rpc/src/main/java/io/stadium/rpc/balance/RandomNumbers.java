package io.stadium.rpc.balance;

/** Random numbers of xorshift64*, the same from the same seed in every language. */
public final class RandomNumbers {
    private long state;

    /**
     * Begins a sequence.
     *
     * @param seed which one
     */
    public RandomNumbers(long seed) {
        state = Hashes.scramble(seed) | 1;
    }

    private RandomNumbers(RandomNumbers other) {
        state = other.state;
    }

    /**
     * A generator that continues from here without changing this one.
     *
     * @return the copy
     */
    public RandomNumbers copy() {
        return new RandomNumbers(this);
    }

    /**
     * The next output.
     *
     * @return 64 random bits
     */
    public long bits() {
        long x = state;
        x ^= x >>> 12;
        x ^= x << 25;
        x ^= x >>> 27;
        state = x;
        return x * 0x2545f4914f6cdd1dL;
    }

    /**
     * A number below a bound. It takes one output, also where only one number is possible.
     *
     * @param bound an unsigned number of 32 bits
     * @return from 0 up to, and without, the bound; 0 for 0
     */
    public int below(int bound) {
        return (int) ((bits() >>> 32) * (bound & 0xffffffffL) >>> 32);
    }

    /**
     * A number between two, both included. It takes one output.
     *
     * @param low the lowest, at least 0
     * @param high the highest; less than {@code low} counts as {@code low}
     * @return the number
     */
    public long within(long low, long high) {
        long span = Math.max(high, low) - low + 1;
        long bits = bits();
        // The upper half of the unsigned product; span is not negative.
        return low + Math.multiplyHigh(bits, span) + (bits >> 63 & span);
    }
}
