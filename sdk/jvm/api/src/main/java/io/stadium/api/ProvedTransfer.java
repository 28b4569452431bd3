package io.stadium.api;

import java.time.Instant;
import java.util.UUID;

/**
 * The content of a receipt that was checked: this transfer stands in the books under a root that
 * was given.
 *
 * @param transfer its id
 * @param kind {@code post}, {@code capture}, {@code reverse}, {@code hold} or {@code void}
 * @param debit the wallet that gives
 * @param credit the wallet that gets
 * @param asset the asset
 * @param scale digits behind the asset's point
 * @param minorUnits the amount
 * @param bookedAt when it was booked
 * @param seal the number of the receipt's seal
 * @param root the root of that seal: 64 hexadecimal digits
 */
public record ProvedTransfer(
        UUID transfer, String kind, String debit, String credit, String asset, int scale,
        long minorUnits, Instant bookedAt, long seal, String root) {}
