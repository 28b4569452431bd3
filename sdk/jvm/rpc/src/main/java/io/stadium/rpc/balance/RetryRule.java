package io.stadium.rpc.balance;

/**
 * Whether a call is made again after an attempt, and when.
 *
 * @param attemptsMax attempts of a call, the first included; default 3
 * @param waitMinUs the shortest wait where no other instance can be asked; default 5 ms
 */
public record RetryRule(int attemptsMax, long waitMinUs) {
    /** Three attempts, and 5 ms. */
    public static final RetryRule DEFAULT = new RetryRule(3, 5_000);

    /** {@link #decide}: the outcome is final. */
    public static final long STOP_FINAL = -1;

    /** {@link #decide}: the method may not be called twice. */
    public static final long STOP_NOT_IDEMPOTENT = -2;

    /** {@link #decide}: all attempts have been made. */
    public static final long STOP_ATTEMPTS = -3;

    /** {@link #decide}: the deadline comes first. */
    public static final long STOP_DEADLINE = -4;

    /** {@link #decide}: there were too many retries. */
    public static final long STOP_BUDGET = -5;

    /**
     * Decides.
     *
     * @param outcome how the attempt ended
     * @param retryAfterMs the delay of BUSY
     * @param made attempts so far, this one included
     * @param isIdempotent whether the method may be called twice
     * @param isPossibleElsewhere whether an instance that has not seen the call is connected
     * @param deadlineUs when the call is over
     * @param nowUs the time
     * @param budget pays for the attempt
     * @param random draws a part of the wait
     * @return when to make the next attempt in microseconds, {@code nowUs} for at once elsewhere;
     *     or one of the negative constants
     */
    public long decide(
            Outcome outcome, long retryAfterMs, int made, boolean isIdempotent,
            boolean isPossibleElsewhere, long deadlineUs, long nowUs, Budget budget,
            RandomNumbers random) {
        if (outcome == Outcome.OK || outcome == Outcome.REJECTED || outcome == Outcome.CANCELLED) {
            return STOP_FINAL;
        }
        if (outcome != Outcome.BUSY && !isIdempotent) {
            return STOP_NOT_IDEMPOTENT;
        }
        if (made >= attemptsMax) {
            return STOP_ATTEMPTS;
        }
        long atUs = nowUs;
        if (!isPossibleElsewhere) {
            long delayUs = outcome == Outcome.BUSY ? retryAfterMs * 1_000 : 0;
            long waitUs = Math.max(delayUs, waitMinUs);
            atUs = nowUs + waitUs + random.within(0, waitUs / 2);
        }
        if (atUs >= deadlineUs) {
            return STOP_DEADLINE;
        }
        return budget.take(nowUs) ? atUs : STOP_BUDGET;
    }
}
