package io.stadium.rpc.balance;

/** One choice: the slot, why, and the candidates with their costs. One object serves all. */
final class Draw {
    /** The slot that was chosen; -1 for none. */
    int slot = -1;

    Why why;

    /** The candidates; -1 for none. */
    int first = -1;

    int second = -1;
    double firstCost;
    double secondCost;

    Draw none() {
        slot = -1;
        why = null;
        first = -1;
        second = -1;
        return this;
    }

    Draw of(int chosen, Why reason) {
        none();
        slot = chosen;
        why = reason;
        return this;
    }
}
