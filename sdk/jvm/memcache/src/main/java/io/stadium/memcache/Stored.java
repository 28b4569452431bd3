package io.stadium.memcache;

/** The outcome of a store with a condition. */
public enum Stored {
    /** The value is stored. */
    STORED,
    /**
     * There is a value already ({@code add}), or none ({@code replace}, {@code append},
     * {@code prepend}).
     */
    NOT_STORED,
    /** The value was changed since its unique number was read ({@code cas}). */
    CHANGED,
    /** The value is gone ({@code cas}). */
    MISSING
}
