package io.stadium.rpc.balance;

/**
 * How many extra calls a client may make: a share of its calls, and some each second.
 *
 * <p>So retries stay a share of the traffic and cannot multiply an outage, and a client with few
 * calls can retry too. Balances are whole numbers, so that nothing is lost to rounding.
 */
public final class Budget {
    /** One token of those that calls earn. */
    private static final long TOKEN = 1_000;

    /** One token of those that time gives: microseconds times tokens a second. */
    private static final long ALLOWANCE_TOKEN = 1_000_000;

    private final long earnedByCall;
    private final long earnedMax;
    private final long perSecond;
    private long earned;
    private long allowance;
    private long refilledAtUs = -1;

    /**
     * Creates a budget with one second's allowance and nothing earned.
     *
     * @param share the part of a token that a call earns, 0 to 1; whole thousandths count
     * @param perSecondMin tokens that time gives each second
     * @param savedMax the most tokens that calls can save
     */
    public Budget(double share, int perSecondMin, int savedMax) {
        earnedByCall = (long) (Math.min(Math.max(share, 0.0), 1.0) * TOKEN);
        earnedMax = savedMax * TOKEN;
        perSecond = perSecondMin;
        allowance = perSecond * ALLOWANCE_TOKEN;
    }

    /** A call is made for the first time, and earns its share. */
    public void called() {
        earned = Math.min(earned + earnedByCall, earnedMax);
    }

    /**
     * Takes a token for one extra call.
     *
     * @param nowUs the time in microseconds
     * @return whether there was one
     */
    public boolean take(long nowUs) {
        refill(nowUs);
        // An allowance that is not used is lost, so it goes first.
        if (allowance >= ALLOWANCE_TOKEN) {
            allowance -= ALLOWANCE_TOKEN;
            return true;
        }
        if (earned >= TOKEN) {
            earned -= TOKEN;
            return true;
        }
        return false;
    }

    /**
     * Whole tokens that could be taken.
     *
     * @param nowUs the time in microseconds
     * @return tokens
     */
    public long left(long nowUs) {
        refill(nowUs);
        return allowance / ALLOWANCE_TOKEN + earned / TOKEN;
    }

    private void refill(long nowUs) {
        long most = perSecond * ALLOWANCE_TOKEN;
        long sinceUs = refilledAtUs < 0 ? 0 : Math.max(nowUs - refilledAtUs, 0);
        // After a second it is full, whatever the product is.
        allowance = sinceUs >= ALLOWANCE_TOKEN
                ? most : Math.min(allowance + sinceUs * perSecond, most);
        refilledAtUs = Math.max(refilledAtUs, nowUs);
    }
}
