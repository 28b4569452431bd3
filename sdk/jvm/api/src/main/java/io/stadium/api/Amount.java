package io.stadium.api;

import java.util.Objects;

/**
 * An amount of an asset.
 *
 * @param minorUnits 1 to 2^63 - 1: 1250 for 12.50 EUR
 * @param asset such as {@code EUR}
 */
public record Amount(long minorUnits, String asset) {
    /**
     * Checks the bounds.
     *
     * @param minorUnits 1 to 2^63 - 1
     * @param asset such as {@code EUR}
     */
    public Amount {
        if (minorUnits < 1) {
            throw new IllegalArgumentException(
                    "an amount is 1 to 2^63 - 1 minor units, not " + minorUnits);
        }
        Objects.requireNonNull(asset, "asset");
    }

    /**
     * An amount.
     *
     * @param minorUnits 1 to 2^63 - 1: 1250 for 12.50 EUR
     * @param asset such as {@code EUR}
     * @return the amount
     */
    public static Amount of(long minorUnits, String asset) {
        return new Amount(minorUnits, asset);
    }
}
