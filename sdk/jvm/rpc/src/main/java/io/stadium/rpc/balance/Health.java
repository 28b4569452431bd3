package io.stadium.rpc.balance;

/**
 * Whether one instance is used: it serves, is ejected for a time, or is on probation.
 *
 * <p>Comparisons with other instances are {@link Balancer}'s.
 */
final class Health {
    /** Where an instance stands. */
    enum Standing { SERVING, EJECTED, PROBATION }

    /** The consequence of an event. */
    enum Verdict { UNCHANGED, EJECT, EJECT_AGAIN, IMPROVED }

    private final BalanceSettings settings;
    private Standing standing = Standing.SERVING;

    /** Of an ejection: its end. */
    private long untilUs;

    /** Of a probation: its beginning. Calls that began earlier prove nothing. */
    private long sinceUs;

    private int goodProbes;
    private boolean isProbing;
    private int failuresInRow;

    /** Ejections that time without one has not made forgotten. */
    private long ejections;

    private long trustedSinceUs;

    /** Answers within the window, good and bad. */
    int answered;

    /** The bad ones among them. */
    int failed;

    Health(BalanceSettings settings) {
        this.settings = settings;
    }

    /** Where it stands now: an ejection that has ended is a probation. */
    Standing standing(long nowUs) {
        return standing == Standing.EJECTED && untilUs <= nowUs ? Standing.PROBATION : standing;
    }

    /** Whether it serves, without regard to time. */
    boolean isServing() {
        return standing == Standing.SERVING;
    }

    /** When its ejection ends; it has a meaning while it is ejected. */
    long ejectedUntilUs() {
        return untilUs;
    }

    /** Whether it is on probation and no probe is under way. */
    boolean wantsProbe(long nowUs) {
        return standing == Standing.PROBATION && !isProbing
                || standing == Standing.EJECTED && untilUs <= nowUs;
    }

    Verdict began(long nowUs) {
        if (standing == Standing.SERVING) {
            return Verdict.UNCHANGED;
        }
        if (standing == Standing.EJECTED && untilUs <= nowUs) {
            standing = Standing.PROBATION;
            sinceUs = untilUs;
            goodProbes = 0;
            isProbing = false;
        }
        if (standing == Standing.PROBATION && !isProbing) {
            isProbing = true;
            return Verdict.IMPROVED;
        }
        return Verdict.UNCHANGED;
    }

    /** A call ended without a verdict on the instance. */
    Verdict endedSilently(long beganUs) {
        if (standing == Standing.PROBATION && isProbing && sinceUs <= beganUs) {
            isProbing = false;
            return Verdict.IMPROVED;
        }
        return Verdict.UNCHANGED;
    }

    Verdict succeeded(long beganUs, long nowUs) {
        answered++;
        if (standing == Standing.SERVING) {
            failuresInRow = 0;
            return Verdict.UNCHANGED;
        }
        if (standing != Standing.PROBATION || sinceUs > beganUs) {
            return Verdict.UNCHANGED;
        }
        isProbing = false;
        goodProbes++;
        if (goodProbes >= settings.probes) {
            standing = Standing.SERVING;
            trustedSinceUs = nowUs;
            forgetCounts();
        }
        return Verdict.IMPROVED;
    }

    Verdict failed(long beganUs) {
        answered++;
        failed++;
        switch (standing) {
            case SERVING -> {
                failuresInRow++;
                return failuresInRow >= settings.failures ? Verdict.EJECT : Verdict.UNCHANGED;
            }
            case PROBATION -> {
                return sinceUs <= beganUs ? Verdict.EJECT_AGAIN : Verdict.UNCHANGED;
            }
            default -> {
                return Verdict.UNCHANGED;
            }
        }
    }

    /** Takes it out of use: longer each time, less long after a time without ejections. */
    void eject(long nowUs) {
        if (standing == Standing.SERVING) {
            long forgotten = Math.max(nowUs - trustedSinceUs, 0) / Math.max(settings.forgetUs, 1);
            ejections = Math.max(ejections - forgotten, 0);
        }
        ejections++;
        long forUs = ejections > settings.maxUs / Math.max(settings.baseUs, 1)
                ? settings.maxUs : Math.min(settings.baseUs * ejections, settings.maxUs);
        standing = Standing.EJECTED;
        untilUs = nowUs + forUs;
        forgetCounts();
    }

    /** Whether this window has enough answers for a success rate. */
    boolean hasRate() {
        return answered >= Math.max(settings.windowAnswersMin, 1);
    }

    double rate() {
        return 1.0 - (double) failed / answered;
    }

    private void forgetCounts() {
        failuresInRow = 0;
        answered = 0;
        failed = 0;
    }
}
