package io.stadium.api;

/**
 * The right to work on a job, until its time is over.
 *
 * @param job the id of the job
 * @param reservation the number of the reservation; with a later one the lease is lost
 */
public record Lease(long job, int reservation) {
    io.stadium.v1.Lease message() {
        return io.stadium.v1.Lease.newBuilder().setJob(job).setReservation(reservation).build();
    }
}
