package io.stadium.rsocket.frame;

import io.netty.buffer.ByteBuf;

/**
 * A view of one frame in a buffer.
 *
 * <p>{@link #decode} reads a frame's fields and notes where its metadata and data are; it copies
 * and allocates nothing. One view serves one frame after another: a field has a meaning for the
 * types that have it, and until the next call to {@code decode}. The view does not retain the
 * buffer.
 *
 * <p>Instances are not thread-safe.
 */
public final class Frame {
    /** Bytes of the length that precedes a frame on TCP. */
    public static final int PREFIX_BYTES = 3;

    /** Bytes of a frame's header: stream id, type and flags. */
    public static final int HEADER_BYTES = 6;

    /** The longest frame that a 24-bit length can express, in bytes. */
    public static final int BYTES_MAX = 0xFF_FFFF;

    /** The greatest request n, and the greatest sum of credit, which counts as unlimited. */
    public static final int REQUEST_N_MAX = Integer.MAX_VALUE;

    /** The greatest stream id. */
    public static final int STREAM_ID_MAX = Integer.MAX_VALUE;

    private ByteBuf buffer;
    private int streamId;
    private int type;
    private int flags;
    private int first;
    private int second;
    private int version;
    private long firstPosition;
    private long secondPosition;
    private int tokenIndex;
    private int tokenLength;
    private int metadataMimeTypeIndex;
    private int dataMimeTypeIndex;
    private int metadataIndex;
    private int metadataLength;
    private int dataIndex;
    private int dataLength;

    /** Creates a view of no frame. */
    public Frame() {}

    /**
     * Reads the frame at {@code index}, without the length that precedes it on TCP.
     *
     * @param source the buffer that holds the frame; its indices are left alone
     * @param index where the frame begins
     * @param length bytes of the frame; all of them are readable in {@code source}
     * @return {@link DecodeStatus#DECODED}, or why the bytes are no frame. Stream id, type and
     *     flags can be read then too if {@code length} is at least {@link #HEADER_BYTES}
     */
    public DecodeStatus decode(ByteBuf source, int index, int length) {
        buffer = source;
        if (length < HEADER_BYTES) {
            return DecodeStatus.TOO_SHORT;
        }
        streamId = source.getInt(index);
        int typeAndFlags = source.getUnsignedShort(index + 4);
        type = typeAndFlags >>> 10;
        flags = typeAndFlags & FrameFlag.ALL;
        if (streamId < 0) {
            return DecodeStatus.RESERVED;
        }
        int at = index + HEADER_BYTES;
        int end = index + length;
        return switch (type) {
            case FrameType.PAYLOAD, FrameType.REQUEST_RESPONSE,
                    FrameType.REQUEST_FNF -> payload(at, end);
            case FrameType.REQUEST_STREAM, FrameType.REQUEST_CHANNEL -> {
                DecodeStatus status = requestN(at, end);
                yield status == DecodeStatus.DECODED ? payload(at + 4, end) : status;
            }
            case FrameType.REQUEST_N -> requestN(at, end);
            case FrameType.CANCEL -> DecodeStatus.DECODED;
            case FrameType.ERROR -> {
                if (end - at < 4) {
                    yield DecodeStatus.TOO_SHORT;
                }
                first = source.getInt(at);
                yield data(at + 4, end);
            }
            case FrameType.KEEPALIVE -> {
                if (end - at < 8) {
                    yield DecodeStatus.TOO_SHORT;
                }
                firstPosition = source.getLong(at);
                yield firstPosition < 0 ? DecodeStatus.RESERVED : data(at + 8, end);
            }
            case FrameType.LEASE -> lease(at, end);
            case FrameType.METADATA_PUSH -> {
                metadata(at, end - at);
                yield DecodeStatus.DECODED;
            }
            case FrameType.SETUP -> setup(at, end);
            case FrameType.RESUME -> resume(at, end);
            case FrameType.RESUME_OK -> {
                if (end - at < 8) {
                    yield DecodeStatus.TOO_SHORT;
                }
                firstPosition = source.getLong(at);
                yield firstPosition < 0 ? DecodeStatus.RESERVED : DecodeStatus.DECODED;
            }
            case FrameType.EXT -> extension(at, end);
            default -> has(FrameFlag.IGNORE) ? DecodeStatus.IGNORABLE : DecodeStatus.UNKNOWN_TYPE;
        };
    }

    private DecodeStatus payload(int at, int end) {
        if ((flags & FrameFlag.METADATA) == 0) {
            metadataLength = -1;
            return data(at, end);
        }
        if (end - at < 3) {
            return DecodeStatus.METADATA_LENGTH;
        }
        int length = buffer.getUnsignedMedium(at);
        if (length > end - at - 3) {
            return DecodeStatus.METADATA_LENGTH;
        }
        metadata(at + 3, length);
        return data(at + 3 + length, end);
    }

    private void metadata(int at, int length) {
        metadataIndex = at;
        metadataLength = length;
    }

    private DecodeStatus data(int at, int end) {
        dataIndex = at;
        dataLength = end - at;
        return DecodeStatus.DECODED;
    }

    private DecodeStatus requestN(int at, int end) {
        if (end - at < 4) {
            return DecodeStatus.TOO_SHORT;
        }
        first = buffer.getInt(at);
        return first <= 0 ? DecodeStatus.REQUEST_N : DecodeStatus.DECODED;
    }

    private DecodeStatus lease(int at, int end) {
        DecodeStatus status = numbers(at, end);
        if (status == DecodeStatus.DECODED) {
            metadata(at + 8, has(FrameFlag.METADATA) ? end - at - 8 : -1);
        }
        return status;
    }

    /** Reads two numbers of 31 bits. */
    private DecodeStatus numbers(int at, int end) {
        if (end - at < 4) {
            return DecodeStatus.TOO_SHORT;
        }
        first = buffer.getInt(at);
        if (first < 0) {
            return DecodeStatus.RESERVED;
        }
        if (end - at < 8) {
            return DecodeStatus.TOO_SHORT;
        }
        second = buffer.getInt(at + 4);
        return second < 0 ? DecodeStatus.RESERVED : DecodeStatus.DECODED;
    }

    private DecodeStatus setup(int start, int end) {
        int at = start;
        if (end - at < 4) {
            return DecodeStatus.TOO_SHORT;
        }
        version = buffer.getInt(at);
        at += 4;
        DecodeStatus status = numbers(at, end);
        if (status != DecodeStatus.DECODED) {
            return status;
        }
        if (first == 0 || second == 0) {
            return DecodeStatus.ZERO_TIME;
        }
        at += 8;
        tokenLength = -1;
        if (has(FrameFlag.RESUME)) {
            at = token(at, end);
            if (at < 0) {
                return DecodeStatus.TOO_SHORT;
            }
        }
        metadataMimeTypeIndex = at;
        at = afterMimeType(at, end);
        if (at < 0) {
            return DecodeStatus.TOO_SHORT;
        }
        dataMimeTypeIndex = at;
        at = afterMimeType(at, end);
        return at < 0 ? DecodeStatus.TOO_SHORT : payload(at, end);
    }

    /** Reads a token and returns where it ends, or -1 where it goes beyond the frame. */
    private int token(int at, int end) {
        if (end - at < 2) {
            return -1;
        }
        tokenIndex = at + 2;
        tokenLength = buffer.getUnsignedShort(at);
        return tokenLength > end - tokenIndex ? -1 : tokenIndex + tokenLength;
    }

    private int afterMimeType(int at, int end) {
        if (end - at < 1) {
            return -1;
        }
        int length = buffer.getUnsignedByte(at);
        return length > end - at - 1 ? -1 : at + 1 + length;
    }

    private DecodeStatus resume(int start, int end) {
        if (end - start < 4) {
            return DecodeStatus.TOO_SHORT;
        }
        version = buffer.getInt(start);
        int at = token(start + 4, end);
        if (at < 0 || end - at < 8) {
            return DecodeStatus.TOO_SHORT;
        }
        firstPosition = buffer.getLong(at);
        if (firstPosition < 0) {
            return DecodeStatus.RESERVED;
        }
        if (end - at < 16) {
            return DecodeStatus.TOO_SHORT;
        }
        secondPosition = buffer.getLong(at + 8);
        return secondPosition < 0 ? DecodeStatus.RESERVED : DecodeStatus.DECODED;
    }

    private DecodeStatus extension(int at, int end) {
        boolean isShort = end - at < 4;
        first = isShort ? -1 : buffer.getInt(at);
        if (first >= 0) {
            return data(at + 4, end);
        }
        // A malformed extension with the ignore flag is ignored as a well-formed one is.
        if (has(FrameFlag.IGNORE)) {
            return DecodeStatus.IGNORABLE;
        }
        return isShort ? DecodeStatus.TOO_SHORT : DecodeStatus.RESERVED;
    }

    /**
     * Whether a flag is set.
     *
     * @param flag one of {@link FrameFlag}
     * @return whether the frame has it
     */
    public boolean has(int flag) {
        return (flags & flag) != 0;
    }

    /**
     * Whether fragments of the same payload follow. A PAYLOAD that completes has none: "A PAYLOAD
     * with both F and C flags set, implicitly ignores the F flag".
     *
     * @return whether the payload goes on in a later frame
     */
    public boolean follows() {
        int deciding = type == FrameType.PAYLOAD ? FrameFlag.FOLLOWS | FrameFlag.COMPLETE
                : FrameFlag.FOLLOWS;
        return (flags & deciding) == FrameFlag.FOLLOWS;
    }

    /**
     * The buffer that holds the frame.
     *
     * @return the buffer of the last call to {@link #decode}
     */
    public ByteBuf buffer() {
        return buffer;
    }

    /**
     * The stream.
     *
     * @return 1 to 2147483647, or 0 for the connection
     */
    public int streamId() {
        return streamId;
    }

    /**
     * The frame's type.
     *
     * @return one of {@link FrameType}, or any other number of six bits
     */
    public int type() {
        return type;
    }

    /**
     * The flags.
     *
     * @return ten bits, see {@link FrameFlag}
     */
    public int flags() {
        return flags;
    }

    /**
     * REQUEST_STREAM, REQUEST_CHANNEL: the initial request n. REQUEST_N: its n.
     *
     * @return 1 to 2147483647
     */
    public int requestN() {
        return first;
    }

    /**
     * ERROR: the code.
     *
     * @return a code of {@link ErrorCode}, or any other number of 32 bits
     */
    public int errorCode() {
        return first;
    }

    /**
     * EXT: the extended type.
     *
     * @return 0 to 2147483647
     */
    public int extendedType() {
        return first;
    }

    /**
     * LEASE: the time to live.
     *
     * @return milliseconds from the frame's arrival, 0 to 2147483647
     */
    public int ttlMs() {
        return first;
    }

    /**
     * LEASE: how many requests may be sent.
     *
     * @return 0 to 2147483647
     */
    public int numberOfRequests() {
        return second;
    }

    /**
     * SETUP: the time between two KEEPALIVE frames of the client.
     *
     * @return milliseconds, 1 to 2147483647
     */
    public int keepaliveIntervalMs() {
        return first;
    }

    /**
     * SETUP: the time without a sign of life after which a side considers the other dead.
     *
     * @return milliseconds, 1 to 2147483647
     */
    public int lifetimeMs() {
        return second;
    }

    /**
     * SETUP, RESUME: the major version.
     *
     * @return 1 for RSocket 1.0
     */
    public int majorVersion() {
        return version >>> 16;
    }

    /**
     * SETUP, RESUME: the minor version.
     *
     * @return 0 for RSocket 1.0
     */
    public int minorVersion() {
        return version & 0xFFFF;
    }

    /**
     * KEEPALIVE: the last received position. RESUME: the last received server position. RESUME_OK:
     * the last received client position.
     *
     * @return bytes, 0 to 2^63-1
     */
    public long lastReceivedPosition() {
        return firstPosition;
    }

    /**
     * RESUME: the first available client position.
     *
     * @return bytes, 0 to 2^63-1
     */
    public long firstAvailablePosition() {
        return secondPosition;
    }

    /**
     * SETUP, RESUME: where the resume token begins.
     *
     * @return an index of {@link #buffer}
     */
    public int tokenIndex() {
        return tokenIndex;
    }

    /**
     * SETUP, RESUME: the length of the resume token.
     *
     * @return bytes, 0 to 65,535, or -1 for a SETUP without a token
     */
    public int tokenLength() {
        return tokenLength;
    }

    /**
     * SETUP: where the metadata MIME type begins, its 8-bit length first.
     *
     * @return an index of {@link #buffer}
     */
    public int metadataMimeTypeIndex() {
        return metadataMimeTypeIndex;
    }

    /**
     * SETUP: where the data MIME type begins, its 8-bit length first.
     *
     * @return an index of {@link #buffer}
     */
    public int dataMimeTypeIndex() {
        return dataMimeTypeIndex;
    }

    /**
     * Where the metadata begins.
     *
     * @return an index of {@link #buffer}
     */
    public int metadataIndex() {
        return metadataIndex;
    }

    /**
     * The length of the metadata. Absent metadata and empty metadata differ.
     *
     * @return bytes, or -1 where the frame has no metadata
     */
    public int metadataLength() {
        return metadataLength;
    }

    /**
     * Where the data begins.
     *
     * @return an index of {@link #buffer}
     */
    public int dataIndex() {
        return dataIndex;
    }

    /**
     * The length of the data; of ERROR the text, of EXT the body.
     *
     * @return bytes
     */
    public int dataLength() {
        return dataLength;
    }
}
