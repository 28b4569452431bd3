package io.stadium.rpc.balance;

import java.util.Locale;

/** Why an instance was chosen. */
public enum Why {
    /** It costs less than the other candidate. */
    LOWER_COST,
    /** No other came into question. */
    ONLY_ONE,
    /** It owns the key, or is next in the key's order while the owner is away. */
    KEY,
    /** It is on probation, and this call is its probe. */
    PROBE,
    /** It was its turn. */
    ROUND_ROBIN,
    /** No instance of the subset is connected; this one is worth connecting to. */
    NOT_CONNECTED,
    /** All instances of the subset have answered BUSY. */
    ALL_BUSY,
    /** No instance of the subset is left. */
    OUTSIDE_SUBSET,
    /** All are ejected, so none is. */
    PANIC;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
