package io.stadium.rpc.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.stadium.rsocket.metadata.CompositeMetadata;
import io.stadium.rsocket.metadata.Routing;
import io.stadium.rsocket.metadata.Tracing;
import io.stadium.rsocket.metadata.WellKnownMimeType;

/**
 * Writes the entries of a request's metadata, in this order: route, deadline, the client's own,
 * key, the call's own.
 */
public final class CallMetadata {
    private static final String DEADLINE = "message/x.stadium.deadline.v1";
    private static final String KEY = "message/x.stadium.key.v1";
    private static final String PEER = "message/x.stadium.peer.v1";
    private static final String TRACE_STATE = "message/x.stadium.tracestate.v1";

    private static final int BEARER = 0x81;
    private static final int TRACE_PARENT_CHARS = 55;

    private CallMetadata() {}

    /**
     * Appends the route.
     *
     * @param out the buffer to append to
     * @param route {@code SERVICE/METHOD}
     */
    public static void route(ByteBuf out, String route) {
        Routing.write(out, route);
    }

    /**
     * Appends the time that is left.
     *
     * @param out the buffer to append to
     * @param leftMs milliseconds, an unsigned number of 32 bits
     */
    public static void deadline(ByteBuf out, long leftMs) {
        int start = CompositeMetadata.begin(out, DEADLINE);
        out.writeInt((int) leftMs);
        CompositeMetadata.end(out, start);
    }

    /**
     * Microseconds as the milliseconds of a deadline, rounded up.
     *
     * @param leftUs at least 0
     * @return an unsigned number of 32 bits
     */
    public static long leftMs(long leftUs) {
        return Math.min((leftUs + 999) / 1_000, 0xffffffffL);
    }

    /**
     * Appends the affinity key.
     *
     * @param out the buffer to append to
     * @param key any bytes
     */
    public static void key(ByteBuf out, byte[] key) {
        int start = CompositeMetadata.begin(out, KEY);
        out.writeBytes(key);
        CompositeMetadata.end(out, start);
    }

    /**
     * Appends a bearer token.
     *
     * @param out the buffer to append to
     * @param token the token
     */
    public static void bearer(ByteBuf out, String token) {
        int start = CompositeMetadata.begin(out, WellKnownMimeType.AUTHENTICATION);
        out.writeByte(BEARER);
        ByteBufUtil.writeUtf8(out, token);
        CompositeMetadata.end(out, start);
    }

    /**
     * Appends to the metadata of SETUP that this client reads pushes of load.
     *
     * @param out the buffer to append to
     */
    public static void peer(ByteBuf out) {
        CompositeMetadata.end(out, CompositeMetadata.begin(out, PEER));
    }

    /**
     * Appends the place of a request in a trace. A text that is no trace parent is left out.
     *
     * @param out the buffer to append to
     * @param traceParent as in the header {@code traceparent} of W3C Trace Context, or {@code null}
     * @param traceState as in the header {@code tracestate}, or {@code null}
     */
    public static void trace(ByteBuf out, String traceParent, String traceState) {
        Tracing trace = traceParent == null ? null : trace(traceParent);
        if (trace == null) {
            return;
        }
        trace.write(out);
        if (traceState != null && !traceState.isEmpty()) {
            int start = CompositeMetadata.begin(out, TRACE_STATE);
            ByteBufUtil.writeUtf8(out, traceState);
            CompositeMetadata.end(out, start);
        }
    }

    /** {@code 00-TRACE-SPAN-FLAGS} in hexadecimal; {@code null} where it is not. */
    private static Tracing trace(String parent) {
        boolean hasForm = parent.length() >= TRACE_PARENT_CHARS && parent.charAt(2) == '-'
                && parent.charAt(35) == '-' && parent.charAt(52) == '-';
        if (!hasForm) {
            return null;
        }
        try {
            long high = Long.parseUnsignedLong(parent, 3, 19, 16);
            long low = Long.parseUnsignedLong(parent, 19, 35, 16);
            long span = Long.parseUnsignedLong(parent, 36, 52, 16);
            boolean isSampled = (Integer.parseInt(parent, 53, 55, 16) & 1) == 1;
            return new Tracing(
                    isSampled ? Tracing.Sampling.SAMPLED : Tracing.Sampling.NOT_SAMPLED,
                    new Tracing.Ids(high, low, span, null));
        } catch (NumberFormatException e) {
            return null;
        }
    }
}
