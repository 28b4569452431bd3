package io.stadium.memcache;

/** A value as the server has it, and the caller that makes it anew. */
public sealed interface Lookup {
    /**
     * It is fresh.
     *
     * @param value the value
     */
    record Fresh(Value value) implements Lookup {}

    /**
     * It may be used, and this caller is to make it anew and to store it with
     * {@link MemcacheOperations#cas cas}.
     *
     * @param value the value, with its unique number
     */
    record Won(Value value) implements Lookup {}

    /**
     * It may be used; another caller makes it anew, or it is marked as stale.
     *
     * @param value the value
     */
    record Stale(Value value) implements Lookup {}

    /**
     * There is none, and this caller is to make it, and to store it with
     * {@link MemcacheOperations#cas cas}, which fails if another client was faster.
     *
     * @param cas the unique number of the empty item that stands for it
     */
    record Make(long cas) implements Lookup {}

    /** There is none yet; another caller makes it. */
    record Made() implements Lookup {}
}
