package io.stadium.rsocket.frame;

import io.netty.buffer.ByteBuf;
import java.nio.charset.StandardCharsets;

/**
 * Appends frames to a buffer, each with its 24-bit length before it, as on TCP.
 *
 * <p>Metadata and data are read from their reader index to their writer index; their indices are
 * left alone and nothing is released. {@code null} metadata means a frame without metadata, {@code
 * null} data means no bytes. Every method throws {@link IllegalArgumentException} if the frame is
 * longer than {@link Frame#BYTES_MAX}, and leaves {@code out} as it was then.
 */
public final class FrameEncoder {
    private FrameEncoder() {}

    /**
     * Appends SETUP.
     *
     * @param out the buffer to append to
     * @param setup the fields
     * @throws IllegalArgumentException if a field is out of its bounds
     */
    public static void setup(ByteBuf out, SetupFields setup) {
        setup.check();
        int flags = metadataFlag(setup.metadata())
                | (setup.lease() ? FrameFlag.LEASE : 0)
                | (setup.resumeToken() != null ? FrameFlag.RESUME : 0);
        int start = begin(out, 0, FrameType.SETUP, flags);
        out.writeShort(setup.majorVersion());
        out.writeShort(setup.minorVersion());
        out.writeInt(setup.keepaliveIntervalMs());
        out.writeInt(setup.lifetimeMs());
        if (setup.resumeToken() != null) {
            out.writeShort(setup.resumeToken().readableBytes());
            append(out, setup.resumeToken());
        }
        out.writeByte(setup.metadataMimeType().length());
        out.writeCharSequence(setup.metadataMimeType(), StandardCharsets.US_ASCII);
        out.writeByte(setup.dataMimeType().length());
        out.writeCharSequence(setup.dataMimeType(), StandardCharsets.US_ASCII);
        payload(out, setup.metadata(), setup.data());
        seal(out, start);
    }

    /**
     * Appends LEASE.
     *
     * @param out the buffer to append to
     * @param ttlMs milliseconds that the lease lasts, at least 0
     * @param requests how many requests it allows, at least 0
     * @param metadata metadata, or {@code null}
     */
    public static void lease(ByteBuf out, int ttlMs, int requests, ByteBuf metadata) {
        int start = begin(out, 0, FrameType.LEASE, metadataFlag(metadata));
        out.writeInt(ttlMs);
        out.writeInt(requests);
        append(out, metadata);
        seal(out, start);
    }

    /**
     * Appends KEEPALIVE.
     *
     * @param out the buffer to append to
     * @param flags {@link FrameFlag#RESPOND} or 0
     * @param lastReceivedPosition bytes, 0 without resumption
     * @param data what the answer returns
     */
    public static void keepalive(ByteBuf out, int flags, long lastReceivedPosition, ByteBuf data) {
        int start = begin(out, 0, FrameType.KEEPALIVE, flags);
        out.writeLong(lastReceivedPosition);
        append(out, data);
        seal(out, start);
    }

    /**
     * Appends a request.
     *
     * @param out the buffer to append to
     * @param streamId the new stream
     * @param interaction its interaction
     * @param flags {@link FrameFlag#FOLLOWS} and {@link FrameFlag#COMPLETE}, or 0
     * @param initialRequestN the initial request n, unused where the interaction has none
     * @param metadata metadata, or {@code null}
     * @param data data, or {@code null}
     */
    public static void request(
            ByteBuf out, int streamId, Interaction interaction, int flags, int initialRequestN,
            ByteBuf metadata, ByteBuf data) {
        int start = begin(out, streamId, interaction.frameType(), flags | metadataFlag(metadata));
        if (interaction.hasInitialRequestN()) {
            out.writeInt(initialRequestN);
        }
        payload(out, metadata, data);
        seal(out, start);
    }

    /**
     * Appends REQUEST_N.
     *
     * @param out the buffer to append to
     * @param streamId the stream
     * @param n 1 to {@link Frame#REQUEST_N_MAX}
     */
    public static void requestN(ByteBuf out, int streamId, int n) {
        int start = begin(out, streamId, FrameType.REQUEST_N, 0);
        out.writeInt(n);
        seal(out, start);
    }

    /**
     * Appends CANCEL.
     *
     * @param out the buffer to append to
     * @param streamId the stream
     */
    public static void cancel(ByteBuf out, int streamId) {
        seal(out, begin(out, streamId, FrameType.CANCEL, 0));
    }

    /**
     * Appends PAYLOAD.
     *
     * @param out the buffer to append to
     * @param streamId the stream
     * @param flags {@link FrameFlag#NEXT}, {@link FrameFlag#COMPLETE}, {@link FrameFlag#FOLLOWS}
     * @param metadata metadata, or {@code null}
     * @param data data, or {@code null}
     */
    public static void payload(ByteBuf out, int streamId, int flags, ByteBuf metadata,
            ByteBuf data) {
        int start = begin(out, streamId, FrameType.PAYLOAD, flags | metadataFlag(metadata));
        payload(out, metadata, data);
        seal(out, start);
    }

    /**
     * Appends ERROR.
     *
     * @param out the buffer to append to
     * @param streamId the stream, or 0 for the connection
     * @param code one of {@link ErrorCode}, or one of the application
     * @param text UTF-8 by convention, or {@code null}
     */
    public static void error(ByteBuf out, int streamId, int code, ByteBuf text) {
        int start = begin(out, streamId, FrameType.ERROR, 0);
        out.writeInt(code);
        append(out, text);
        seal(out, start);
    }

    /**
     * Appends METADATA_PUSH.
     *
     * @param out the buffer to append to
     * @param metadata metadata of the connection
     */
    public static void metadataPush(ByteBuf out, ByteBuf metadata) {
        int start = begin(out, 0, FrameType.METADATA_PUSH, FrameFlag.METADATA);
        append(out, metadata);
        seal(out, start);
    }

    /**
     * Appends RESUME.
     *
     * @param out the buffer to append to
     * @param majorVersion 1
     * @param minorVersion 0
     * @param token the token of SETUP, at most 65,535 bytes
     * @param lastReceivedServerPosition bytes
     * @param firstAvailableClientPosition bytes
     */
    public static void resume(
            ByteBuf out, int majorVersion, int minorVersion, ByteBuf token,
            long lastReceivedServerPosition, long firstAvailableClientPosition) {
        int start = begin(out, 0, FrameType.RESUME, 0);
        out.writeShort(majorVersion);
        out.writeShort(minorVersion);
        out.writeShort(token.readableBytes());
        append(out, token);
        out.writeLong(lastReceivedServerPosition);
        out.writeLong(firstAvailableClientPosition);
        seal(out, start);
    }

    /**
     * Appends RESUME_OK.
     *
     * @param out the buffer to append to
     * @param lastReceivedClientPosition bytes
     */
    public static void resumeOk(ByteBuf out, long lastReceivedClientPosition) {
        int start = begin(out, 0, FrameType.RESUME_OK, 0);
        out.writeLong(lastReceivedClientPosition);
        seal(out, start);
    }

    /**
     * Appends EXT.
     *
     * @param out the buffer to append to
     * @param streamId the stream, or 0 for the connection
     * @param flags all ten flags
     * @param extendedType 0 to 2147483647
     * @param body the rest of the frame, or {@code null}
     */
    public static void extension(ByteBuf out, int streamId, int flags, int extendedType,
            ByteBuf body) {
        int start = begin(out, streamId, FrameType.EXT, flags & FrameFlag.ALL);
        out.writeInt(extendedType);
        append(out, body);
        seal(out, start);
    }

    /**
     * Appends room for a frame's length, then its header. The caller appends the rest and calls
     * {@link #seal}.
     *
     * @param out the buffer to append to
     * @param streamId the stream, or 0 for the connection
     * @param type one of {@link FrameType}
     * @param flags ten bits, see {@link FrameFlag}
     * @return where the frame begins, for {@code seal}
     */
    public static int begin(ByteBuf out, int streamId, int type, int flags) {
        int start = out.writerIndex();
        out.ensureWritable(Frame.PREFIX_BYTES + Frame.HEADER_BYTES);
        // Length, stream id, type and flags are nine bytes; the length is filled in afterwards.
        out.setInt(start + Frame.PREFIX_BYTES, streamId);
        out.setShort(start + Frame.PREFIX_BYTES + 4, type << 10 | flags);
        out.writerIndex(start + Frame.PREFIX_BYTES + Frame.HEADER_BYTES);
        return start;
    }

    /**
     * Writes the length of the frame that began at {@code start} and ends with {@code out}.
     *
     * @param out the buffer that holds the frame
     * @param start the result of {@link #begin}
     */
    public static void seal(ByteBuf out, int start) {
        int length = out.writerIndex() - start - Frame.PREFIX_BYTES;
        if (length > Frame.BYTES_MAX) {
            out.writerIndex(start);
            throw new IllegalArgumentException("frame of " + length + " bytes is too large");
        }
        out.setMedium(start, length);
    }

    /**
     * Appends metadata with its 24-bit length, or nothing if it is {@code null}.
     *
     * @param out the buffer to append to
     * @param metadata metadata, or {@code null}
     */
    public static void metadata(ByteBuf out, ByteBuf metadata) {
        if (metadata != null) {
            out.writeMedium(metadata.readableBytes());
            append(out, metadata);
        }
    }

    private static void payload(ByteBuf out, ByteBuf metadata, ByteBuf data) {
        metadata(out, metadata);
        append(out, data);
    }

    private static int metadataFlag(ByteBuf metadata) {
        return metadata != null ? FrameFlag.METADATA : 0;
    }

    private static void append(ByteBuf out, ByteBuf bytes) {
        if (bytes != null) {
            out.writeBytes(bytes, bytes.readerIndex(), bytes.readableBytes());
        }
    }
}
