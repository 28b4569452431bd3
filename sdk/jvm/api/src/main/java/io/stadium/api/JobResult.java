package io.stadium.api;

/**
 * The meaning of a handler's end for its job.
 *
 * @param kind the command
 * @param due of a release
 * @param text for the history of a job that failed
 */
record JobResult(Kind kind, Due due, String text) {
    enum Kind { SETTLE, RELEASE, BURY }

    static final JobResult SETTLED = new JobResult(Kind.SETTLE, Due.afterBackoff(), "");

    static JobResult released(Due due, String text) {
        return new JobResult(Kind.RELEASE, due, text);
    }

    /** The result of a handler that failed. */
    static JobResult of(Throwable failure) {
        if (failure instanceof Bury) {
            return new JobResult(Kind.BURY, Due.afterBackoff(), text(failure));
        }
        if (failure instanceof Retry retry) {
            return released(retry.due(), text(failure));
        }
        return released(Due.afterBackoff(), Reason.of(failure.toString()));
    }

    private static String text(Throwable failure) {
        return failure.getMessage() == null ? "" : Reason.of(failure.getMessage());
    }
}
