package io.stadium.api;

/**
 * The amounts of an account, in minor units.
 *
 * @param posted the sum of everything that came in, less what went out
 * @param held of that, promised by holds; 0 of a moment in the past
 * @param available posted less held: what can be spent
 */
public record Balance(long posted, long held, long available) {
    static final Balance ZERO = new Balance(0, 0, 0);

    static Balance of(io.stadium.v1.Balance message) {
        return new Balance(message.getPosted(), message.getHeld(), message.getAvailable());
    }
}
