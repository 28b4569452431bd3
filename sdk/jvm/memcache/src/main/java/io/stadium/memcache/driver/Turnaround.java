package io.stadium.memcache.driver;

/** The usual time until an answer: a look at the socket before it is a system call in vain. */
final class Turnaround {
    private long usual;

    /**
     * An answer came after so many nanoseconds.
     *
     * @param isFirst it was there at the first look, so it may have come earlier
     */
    void answered(long after, boolean isFirst) {
        // Nobody looked before: it shrinks until a look is in vain now and then.
        long seen = isFirst ? after / 2 : after;
        usual += seen / 8 - usual / 8;
    }

    /** Nanoseconds from the beginning of a wait to the first look. */
    long usual() {
        return usual;
    }
}
