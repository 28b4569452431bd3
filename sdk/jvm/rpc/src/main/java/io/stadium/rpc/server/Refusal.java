package io.stadium.rpc.server;

import io.stadium.rpc.Busy;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unavailable;
import io.stadium.rsocket.frame.ErrorCode;
import java.time.Duration;
import java.util.Objects;

/**
 * How a function declines a request, or fails on it. Functions throw it; asynchronous ones may also
 * complete their stage with it.
 *
 * <p><em>Busy</em> and <em>rejected</em> promise that nothing happened. <em>Unknown</em> promises
 * nothing. A refusal has no stack trace: it is an answer.
 */
public final class Refusal extends Exception {
    private static final long serialVersionUID = 1L;

    /** The code of the ERROR frame. */
    private final int errorCode;

    /** The text of the ERROR frame. */
    private final String text;

    /** How it is counted. */
    private final Outcome outcome;

    private Refusal(int errorCode, String text, Outcome outcome) {
        super(text, null, false, false);
        this.errorCode = errorCode;
        this.text = text;
        this.outcome = outcome;
    }

    /**
     * Not now: nothing happened, and the caller still owns the request.
     *
     * @param retryAfter when it is worth asking again; sent in whole milliseconds
     * @param reason the reason, for people
     * @return the refusal
     */
    public static Refusal busy(Duration retryAfter, String reason) {
        return busy(retryAfter.toMillis(), reason);
    }

    static Refusal busy(long retryAfterMs, String reason) {
        String text = "BUSY retry_after_ms=" + Math.max(retryAfterMs, 0) + ": " + reason;
        return new Refusal(ErrorCode.REJECTED, text, Outcome.BUSY);
    }

    /**
     * Never: nothing happened, and the same request will be rejected again.
     *
     * @param code a stable code, such as {@code GEO-001}: 1 to 40 capitals, digits and hyphens
     * @param reason what is wrong, with what, and what to do
     * @return the refusal
     * @throws IllegalArgumentException the code has another form
     */
    public static Refusal rejected(String code, String reason) {
        String text = checked(code) + ": " + reason;
        return new Refusal(ErrorCode.APPLICATION_ERROR, text, Outcome.REJECTED);
    }

    /**
     * It may have happened, or a part of it.
     *
     * @param code a stable code, such as {@code GEO-007}: 1 to 40 capitals, digits and hyphens
     * @param reason what went wrong, with what
     * @return the refusal
     * @throws IllegalArgumentException the code has another form
     */
    public static Refusal unknown(String code, String reason) {
        String text = "UNKNOWN " + checked(code) + ": " + reason;
        return new Refusal(ErrorCode.APPLICATION_ERROR, text, Outcome.FAILED);
    }

    /**
     * An error of the service's own, which is sent unchanged. Stadium's clients read a text that
     * begins with a code and a colon, under APPLICATION_ERROR, as a rejection.
     *
     * @param errorCode {@link ErrorCode#APPLICATION_ERROR}, or 0x301 to 0xFFFFFFFE
     * @param text the text of the ERROR frame
     * @return the refusal
     * @throws IllegalArgumentException the code belongs to RSocket
     */
    public static Refusal application(int errorCode, String text) {
        boolean isOwn = errorCode == ErrorCode.APPLICATION_ERROR
                || Integer.compareUnsigned(errorCode, 0x301) >= 0 && errorCode != 0xFFFFFFFF;
        if (!isOwn) {
            throw new IllegalArgumentException(
                    "an application's code is 0x201 or 0x301 to 0xFFFFFFFE, not "
                            + ErrorCode.name(errorCode));
        }
        return new Refusal(errorCode, Objects.requireNonNull(text), Outcome.FAILED);
    }

    /**
     * For a service that calls another one: the outcome of that call, reported to the caller of
     * this one. A function that lets the exception pass has the same effect.
     *
     * @param outcome why the call has no answer
     * @return Busy and Rejected as they are, Busy after a second where no instance was reached, and
     *     otherwise Unknown, {@code RPC-009}: that service may have done its work
     */
    public static Refusal of(RpcException outcome) {
        if (outcome instanceof Busy busy) {
            return busy(busy.retryAfter(), busy.reason());
        }
        if (outcome instanceof Rejected rejected) {
            String text = rejected.code() + ": " + rejected.reason();
            return new Refusal(ErrorCode.APPLICATION_ERROR, text, Outcome.REJECTED);
        }
        return outcome instanceof Unavailable
                ? busy(1_000, outcome.getMessage()) : unknown("RPC-009", outcome.getMessage());
    }

    /** The request does not decode. */
    static Refusal malformed(String why) {
        String text = "RPC-004: the request does not decode: " + why;
        return new Refusal(ErrorCode.INVALID, text, Outcome.REJECTED);
    }

    /** The request cannot be served as it is: its route or its interaction. */
    static Refusal invalid(String text) {
        return new Refusal(ErrorCode.INVALID, text, Outcome.REJECTED);
    }

    /** The deadline has passed. */
    static Refusal expired(String why) {
        return new Refusal(ErrorCode.CANCELED, "RPC-DEADLINE: " + why, Outcome.EXPIRED);
    }

    /** A function failed with an exception, which the log has and the caller does not get. */
    static Refusal failed() {
        return unknown("RPC-007", "the service failed on this request");
    }

    /** The function has run, and its answer cannot be sent. */
    static Refusal answerTooLarge() {
        return unknown("RPC-006", "the answer is larger than this connection carries");
    }

    /**
     * The code of the ERROR frame.
     *
     * @return one of {@link ErrorCode}, or a code of the application
     */
    public int errorCode() {
        return errorCode;
    }

    /**
     * The text of the ERROR frame.
     *
     * @return the text
     */
    public String text() {
        return text;
    }

    /**
     * How it is counted.
     *
     * @return the outcome
     */
    public Outcome outcome() {
        return outcome;
    }

    private static String checked(String code) {
        boolean isCode = !code.isEmpty() && code.length() <= 40;
        for (int nth = 0; isCode && nth < code.length(); nth++) {
            char one = code.charAt(nth);
            isCode = one >= 'A' && one <= 'Z' || one >= '0' && one <= '9' || one == '-';
        }
        if (!isCode) {
            throw new IllegalArgumentException(
                    "a code is 1 to 40 capitals, digits and hyphens, not \"" + code + '"');
        }
        return code;
    }
}
