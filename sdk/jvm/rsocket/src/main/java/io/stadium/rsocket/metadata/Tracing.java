package io.stadium.rsocket.metadata;

import io.netty.buffer.ByteBuf;

/**
 * The trace that a request belongs to (Tracing (Zipkin) Metadata Extension).
 *
 * @param sampling whether the trace is recorded
 * @param ids the ids, or {@code null} where the entry has the sampling only
 */
public record Tracing(Sampling sampling, Ids ids) {
    private static final int IDS = 0x80;
    private static final int DEBUG = 0x40;
    private static final int SAMPLED = 0x20;
    private static final int NOT_SAMPLED = 0x10;
    private static final int LONG_TRACE = 0x08;
    private static final int PARENT = 0x04;

    /** Whether a trace is recorded. */
    public enum Sampling {
        /** The receiver decides. */
        UNDECIDED,
        /** It is not. */
        NOT_SAMPLED,
        /** It is. */
        SAMPLED,
        /** It is, even where another rule decides otherwise. */
        DEBUG
    }

    /**
     * The place of a request in a trace.
     *
     * @param traceHigh the upper half of a trace id of 128 bits, or {@code null} for one of 64 bits
     * @param traceLow the trace id, or its lower half
     * @param span the sender's span
     * @param parent the span above it, or {@code null}
     */
    public record Ids(Long traceHigh, long traceLow, long span, Long parent) {}

    /**
     * Reads the content of a tracing entry. Bytes after its fields are ignored.
     *
     * @param buffer the buffer that holds it
     * @param index where the content begins
     * @param length its bytes
     * @return the trace
     * @throws MalformedMetadataException if the content ends before what it announces
     */
    public static Tracing read(ByteBuf buffer, int index, int length)
            throws MalformedMetadataException {
        int flags = length < 1 ? -1 : buffer.getUnsignedByte(index);
        boolean isLong = (flags & LONG_TRACE) != 0;
        boolean hasParent = (flags & PARENT) != 0;
        boolean hasIds = (flags & IDS) != 0;
        int bytes = !hasIds ? 1 : 17 + (isLong ? 8 : 0) + (hasParent ? 8 : 0);
        if (length < bytes) {
            throw new MalformedMetadataException("tracing ends before its ids do");
        }
        Sampling sampling = (flags & DEBUG) != 0 ? Sampling.DEBUG
                : (flags & SAMPLED) != 0 ? Sampling.SAMPLED
                : (flags & NOT_SAMPLED) != 0 ? Sampling.NOT_SAMPLED
                : Sampling.UNDECIDED;
        if (!hasIds) {
            return new Tracing(sampling, null);
        }
        int at = index + 1;
        Long traceHigh = null;
        if (isLong) {
            traceHigh = buffer.getLong(at);
            at += 8;
        }
        long traceLow = buffer.getLong(at);
        long span = buffer.getLong(at + 8);
        Long parent = hasParent ? buffer.getLong(at + 16) : null;
        return new Tracing(sampling, new Ids(traceHigh, traceLow, span, parent));
    }

    /**
     * Appends a tracing entry.
     *
     * @param out the buffer to append to
     */
    public void write(ByteBuf out) {
        int start = CompositeMetadata.begin(out, WellKnownMimeType.TRACING);
        int flags = switch (sampling) {
            case UNDECIDED -> 0;
            case NOT_SAMPLED -> NOT_SAMPLED;
            case SAMPLED -> SAMPLED;
            case DEBUG -> DEBUG;
        };
        if (ids == null) {
            out.writeByte(flags);
        } else {
            flags |= IDS | (ids.traceHigh() != null ? LONG_TRACE : 0) | (ids.parent() != null
                    ? PARENT : 0);
            out.writeByte(flags);
            if (ids.traceHigh() != null) {
                out.writeLong(ids.traceHigh());
            }
            out.writeLong(ids.traceLow());
            out.writeLong(ids.span());
            if (ids.parent() != null) {
                out.writeLong(ids.parent());
            }
        }
        CompositeMetadata.end(out, start);
    }
}
