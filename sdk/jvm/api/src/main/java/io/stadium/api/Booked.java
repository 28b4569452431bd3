package io.stadium.api;

import io.stadium.v1.NewTransfer;
import io.stadium.v1.TransferOutcome;
import java.time.Instant;
import java.util.UUID;

/**
 * A transfer that is in the books.
 *
 * @param id its id
 * @param at when it was booked, by the server's clock
 * @param isDuplicate it had been booked before: nothing happened now
 */
public record Booked(UUID id, Instant at, boolean isDuplicate) {
    static Outcome<Booked> of(NewTransfer transfer, TransferOutcome outcome) {
        return outcome.hasRefused() ? Outcome.failed(refusal(outcome.getRefused()))
                : Outcome.of(new Booked(Ids.of(transfer.getId()),
                        Times.moment(outcome.getBookedAtMs()), outcome.getDuplicate()));
    }

    static io.stadium.rpc.RpcException refusal(io.stadium.v1.NotDone refused) {
        return Outcome.refusal(refused.getCode(), refused.getReason(),
                refused.getRetryAfterMs(), refused.getMayHaveHappened());
    }
}
