package io.stadium.api;

import java.util.List;

/**
 * A unit that is in the books.
 *
 * @param transfers its transfers, in order
 * @param jobs the jobs that it put, those of its pushes behind the others; none where it had been
 *     booked before
 */
public record BookedUnit(List<Booked> transfers, List<Placed> jobs) {}
