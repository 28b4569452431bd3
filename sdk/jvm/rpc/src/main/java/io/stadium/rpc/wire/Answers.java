package io.stadium.rpc.wire;

import io.netty.buffer.ByteBuf;
import io.stadium.rpc.ApplicationError;
import io.stadium.rpc.Busy;
import io.stadium.rpc.Cancelled;
import io.stadium.rpc.DeadlineExceeded;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unknown;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.metadata.CompositeMetadata;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** The meaning of ERROR frames and of pushed metadata for a caller. */
public final class Answers {
    /** {@link #readLoad}: the metadata has no load, or one that makes no sense. */
    public static final long NO_LOAD = -1;

    private static final byte[] LOAD =
            "message/x.stadium.load.v1".getBytes(StandardCharsets.US_ASCII);
    private static final String BUSY = "BUSY retry_after_ms=";
    private static final String UNKNOWN = "UNKNOWN ";

    /** The delay of a server that gives none. */
    private static final Duration RETRY_AFTER = Duration.ofMillis(100);

    private static final int CODE_CHARS_MAX = 40;
    private static final BigInteger MS_MAX = BigInteger.ONE.shiftLeft(64);

    private Answers() {}

    /**
     * The meaning of an ERROR frame on the stream of a call.
     *
     * @param code its code
     * @param text its data, decoded as UTF-8 with replacement characters
     * @param hasBegun whether a message of the stream came before, or the call is a channel: then
     *     INVALID may be the answer to something that was done
     * @return the outcome
     */
    public static RpcException read(int code, String text, boolean hasBegun) {
        switch (code) {
            case ErrorCode.REJECTED:
                return busy(text);
            case ErrorCode.CANCELED:
                return text.startsWith("RPC-DEADLINE") ? new DeadlineExceeded() : new Cancelled();
            case ErrorCode.APPLICATION_ERROR:
                return application(text);
            case ErrorCode.INVALID:
                int end = codeEnd(text);
                String named = end < 0 ? "0x00000204" : text.substring(0, end);
                String reason = end < 0 ? text : text.substring(end + 2);
                // The framework's own refusals come before a function begins.
                return hasBegun && !named.startsWith("RPC-")
                        ? new Unknown(named, reason) : new Rejected(named, reason);
            default:
                return new ApplicationError(code, text);
        }
    }

    private static RpcException application(String text) {
        if (text.startsWith(UNKNOWN)) {
            String rest = text.substring(UNKNOWN.length());
            int end = codeEnd(rest);
            if (end >= 0) {
                return new Unknown(rest.substring(0, end), rest.substring(end + 2));
            }
        }
        int end = codeEnd(text);
        return end < 0 ? new ApplicationError(ErrorCode.APPLICATION_ERROR, text)
                : new Rejected(text.substring(0, end), text.substring(end + 2));
    }

    private static Busy busy(String text) {
        int end = text.indexOf(": ", Math.min(BUSY.length(), text.length()));
        if (!text.startsWith(BUSY) || end < 0) {
            return new Busy(RETRY_AFTER, text);
        }
        return new Busy(delay(text.substring(BUSY.length(), end)), text.substring(end + 2));
    }

    /** A delay in decimal digits, which may follow one plus, below 2^64 milliseconds. */
    private static Duration delay(String ms) {
        String digits = ms.startsWith("+") ? ms.substring(1) : ms;
        boolean isNumber = !digits.isEmpty()
                && digits.chars().allMatch(one -> one >= '0' && one <= '9');
        if (!isNumber) {
            return RETRY_AFTER;
        }
        if (digits.length() <= 18) {
            return Duration.ofMillis(Long.parseLong(digits));
        }
        BigInteger large = new BigInteger(digits);
        if (large.compareTo(MS_MAX) >= 0) {
            return RETRY_AFTER;
        }
        BigInteger[] parts = large.divideAndRemainder(BigInteger.valueOf(1_000));
        return Duration.ofSeconds(parts[0].longValue(), parts[1].longValue() * 1_000_000);
    }

    /** Where the code ends that a text begins with, or -1: a code, a colon, a space. */
    private static int codeEnd(String text) {
        int end = text.indexOf(": ");
        if (end < 1 || end > CODE_CHARS_MAX) {
            return -1;
        }
        for (int at = 0; at < end; at++) {
            char one = text.charAt(at);
            boolean isOfCode = one >= 'A' && one <= 'Z' || one >= '0' && one <= '9' || one == '-';
            if (!isOfCode) {
                return -1;
            }
        }
        return end;
    }

    /**
     * The delay of a Busy for the balancer.
     *
     * @param busy the answer
     * @return milliseconds, cut to 32 bits
     */
    public static long retryAfterMs(Busy busy) {
        Duration delay = busy.retryAfter();
        return delay.getSeconds() >= 4_294_968 ? 0xffffffffL
                : Math.min(Math.max(delay.toMillis(), 0), 0xffffffffL);
    }

    /**
     * The load that a server pushes.
     *
     * @param cursor a cursor over the pushed metadata
     * @param metadata the buffer of the cursor
     * @return {@link #NO_LOAD}, or a value for {@link #factor} and {@link #isQuiescing}
     */
    public static long readLoad(CompositeMetadata cursor, ByteBuf metadata) {
        while (cursor.next()) {
            if (!cursor.isNamed(LOAD)) {
                continue;
            }
            if (cursor.contentLength() != 5) {
                return NO_LOAD;
            }
            float factor = metadata.getFloat(cursor.contentIndex());
            if (!Float.isFinite(factor)) {
                return NO_LOAD;
            }
            boolean isQuiescing = metadata.getByte(cursor.contentIndex() + 4) == 1;
            float clamped = Math.min(Math.max(factor, 0f), 100f);
            return (isQuiescing ? 1L << 32 : 0) | Float.floatToIntBits(clamped) & 0x7fffffffL;
        }
        return NO_LOAD;
    }

    /**
     * The load factor of a result of {@link #readLoad}.
     *
     * @param load the result
     * @return 0 to 100
     */
    public static float factor(long load) {
        return Float.intBitsToFloat((int) load);
    }

    /**
     * Whether the instance of a result of {@link #readLoad} takes no new calls.
     *
     * @param load the result
     * @return whether it quiesces
     */
    public static boolean isQuiescing(long load) {
        return load >>> 32 == 1;
    }
}
