package io.stadium.api;

import io.stadium.rpc.Busy;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.Unknown;

/** The outcome of a request for one job. */
public enum JobStatus {
    /** It is done as asked. */
    DONE,
    /** It had been done before. */
    ALREADY,
    /** That was the job's last attempt: it is dead now. */
    DEAD;

    static Outcome<JobStatus> of(io.stadium.v1.Outcome outcome) {
        return switch (outcome.getStatus()) {
            case DONE -> Outcome.of(DONE);
            case ALREADY -> Outcome.of(ALREADY);
            case DEAD -> Outcome.of(DEAD);
            case REJECTED -> Outcome.failed(new Rejected(outcome.getCode(), outcome.getReason()));
            case BUSY -> Outcome.failed(
                    new Busy(Times.span(outcome.getRetryAfterMs()), outcome.getReason()));
            default -> Outcome.failed(new Unknown(outcome.getCode(), outcome.getReason()));
        };
    }
}
