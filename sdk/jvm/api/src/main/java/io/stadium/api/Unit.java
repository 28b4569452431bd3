package io.stadium.api;

import io.stadium.v1.QueuedJob;
import java.util.ArrayList;
import java.util.List;

/**
 * Transfers, jobs and pushes that happen together or not at all. Instances are immutable.
 *
 * <p>Its wallets, but for system wallets, must live on one shard.
 */
public final class Unit {
    private final List<Transfer> transfers;
    private final io.stadium.v1.Unit message;

    private Unit(List<Transfer> transfers, io.stadium.v1.Unit.Builder message) {
        this.transfers = transfers;
        this.message = message.build();
    }

    /**
     * Transfers.
     *
     * @param transfers 1 to 1,000
     * @return the unit
     */
    public static Unit of(Transfer... transfers) {
        return of(List.of(transfers));
    }

    /**
     * Transfers.
     *
     * @param transfers 1 to 1,000
     * @return the unit
     */
    public static Unit of(List<Transfer> transfers) {
        List<Transfer> own = Bounds.items("transfers", transfers);
        io.stadium.v1.Unit.Builder message = io.stadium.v1.Unit.newBuilder();
        own.forEach(transfer -> message.addTransfers(transfer.message()));
        return new Unit(own, message);
    }

    /**
     * Puts a job too.
     *
     * @param queue the queue
     * @param job the job
     * @return another unit
     */
    public Unit job(String queue, NewJob job) {
        return new Unit(transfers, message.toBuilder().addJobs(
                QueuedJob.newBuilder().setQueue(queue).setJob(job.message())));
    }

    /**
     * Pushes too, to devices: each gets it at least once.
     *
     * @param push the push
     * @return another unit
     */
    public Unit push(LivePush push) {
        return new Unit(transfers, message.toBuilder().addPushes(push.message()));
    }

    List<Transfer> transfers() {
        return transfers;
    }

    io.stadium.v1.Unit message() {
        return message;
    }

    /** Its outcome, of that of the contract. */
    Outcome<BookedUnit> outcome(io.stadium.v1.UnitOutcome outcome) {
        if (outcome.hasRefused()) {
            return Outcome.failed(Booked.refusal(outcome.getRefused()));
        }
        List<Booked> booked = new ArrayList<>();
        for (Outcome<Booked> one : Outcome.each(
                message.getTransfersList(), outcome.getTransfersList(), Booked::of)) {
            if (!one.isOk()) {
                return Outcome.failed(one.error().orElseThrow());
            }
            booked.add(one.get());
        }
        return Outcome.of(
                new BookedUnit(List.copyOf(booked), Placed.of(outcome.getPlaced())));
    }
}
