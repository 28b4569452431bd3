package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.stadium.rsocket.frame.DecodeStatus;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Frame;
import io.stadium.rsocket.frame.FrameEncoder;
import io.stadium.rsocket.frame.FrameFlag;
import io.stadium.rsocket.frame.FrameType;
import java.nio.charset.StandardCharsets;

/**
 * Cuts received bytes into frames, and deals with the frames of the connection: SETUP, KEEPALIVE,
 * LEASE, ERROR on stream 0, METADATA_PUSH, extensions. Frames of streams go to {@link
 * StreamReceiver}.
 *
 * <p>A frame that makes no sense where it arrives is ignored (Handling the Unexpected), unless
 * ignoring it would let a peer spend memory or confuse two streams; then the connection ends.
 */
final class Receiver {
    private final Connection connection;
    private final Frame frame = new Frame();
    private final Payload payload = new Payload();
    private final FrameAssembler assembler;
    private final StreamReceiver streamReceiver;

    /** Client: the server has shown that it accepted the SETUP. */
    private boolean established;

    Receiver(Connection connection) {
        this.connection = connection;
        assembler = new FrameAssembler(connection.allocator);
        streamReceiver = new StreamReceiver(connection, frame, payload);
        established = !connection.isClient;
    }

    /** Bytes of a frame that has not arrived whole. */
    int heldBytes() {
        return assembler.heldBytes();
    }

    void release() {
        assembler.release();
    }

    void receive(ByteBuf in, ByteBuf out, int framesMax) {
        if (in.isReadable() && connection.phase != Phase.DECIDING) {
            connection.timers.received();
        }
        if (!assembler.isEmpty() && isReceiving(in)) {
            assemble(in, out);
        }
        for (int left = framesMax; left > 0 && isReceiving(in); left--) {
            int start = in.readerIndex();
            int readable = in.writerIndex() - start;
            if (readable < Frame.PREFIX_BYTES) {
                assembler.length(in);
                return;
            }
            int length = in.getUnsignedMedium(start);
            if (!isAllowed(length, out)) {
                break;
            }
            if (readable - Frame.PREFIX_BYTES < length) {
                assembler.length(in);
                assembler.fill(in, length);
                return;
            }
            in.readerIndex(start + Frame.PREFIX_BYTES + length);
            take(in, start + Frame.PREFIX_BYTES, length, out);
        }
        if (connection.phase == Phase.CLOSED) {
            in.readerIndex(in.writerIndex());
            assembler.release();
        }
    }

    private boolean isReceiving(ByteBuf in) {
        return in.isReadable() && connection.phase != Phase.DECIDING
                && connection.phase != Phase.CLOSED;
    }

    /** Adds to the frame that was cut. */
    private void assemble(ByteBuf in, ByteBuf out) {
        int length = assembler.length(in);
        if (length < 0 || !isAllowed(length, out) || !assembler.fill(in, length)) {
            return;
        }
        ByteBuf whole = assembler.take();
        try {
            take(whole, Frame.PREFIX_BYTES, length, out);
        } finally {
            whole.release();
        }
    }

    /** Whether a frame of this length is read; if not, the connection ends. */
    private boolean isAllowed(int length, ByteBuf out) {
        Config config = connection.config;
        boolean isNew = connection.phase == Phase.NEW;
        int bytesMax = isNew
                ? Math.min(config.setupBytesMax(), config.frameBytesMax())
                : config.frameBytesMax();
        if (length <= bytesMax && length >= Frame.HEADER_BYTES) {
            return true;
        }
        if (isNew) {
            violate(
                    ErrorCode.INVALID_SETUP,
                    length < Frame.HEADER_BYTES
                            ? SetupCheck.FIRST_FRAME
                            : "the first frame has " + length + " bytes, a SETUP may have "
                                    + bytesMax,
                    out);
        } else {
            violate(
                    ErrorCode.CONNECTION_ERROR,
                    length < Frame.HEADER_BYTES
                            ? DecodeStatus.TOO_SHORT.text()
                            : "frame of " + length + " bytes is too large",
                    out);
        }
        return false;
    }

    private void take(ByteBuf buffer, int index, int length, ByteBuf out) {
        DecodeStatus status = frame.decode(buffer, index, length);
        if (connection.phase == Phase.NEW) {
            onFirstFrame(status, index, length, out);
            return;
        }
        if (status != DecodeStatus.DECODED) {
            onUnreadable(status, out);
            return;
        }
        if (!established && frame.type() != FrameType.ERROR) {
            established = true;
        }
        if (!streamReceiver.receive(out)) {
            onConnectionFrame(out);
        }
        payload.clear();
    }

    private void onConnectionFrame(ByteBuf out) {
        boolean isOfConnection = frame.streamId() == 0;
        switch (frame.type()) {
            case FrameType.KEEPALIVE -> {
                if (isOfConnection && frame.has(FrameFlag.RESPOND)) {
                    FrameEncoder.keepalive(
                            out, 0, 0, frame.buffer().slice(frame.dataIndex(), frame.dataLength()));
                }
            }
            case FrameType.LEASE -> {
                if (isOfConnection && connection.leases != null) {
                    connection.leases.ours.set(connection.timers.nowMs + frame.ttlMs(),
                            frame.numberOfRequests());
                    connection.listener.onLease(frame.ttlMs(), frame.numberOfRequests());
                }
            }
            case FrameType.METADATA_PUSH -> {
                if (isOfConnection) {
                    payload.set(frame.buffer(), frame.metadataIndex(), frame.metadataLength(), 0,
                            0, false);
                    connection.listener.onMetadataPush(payload);
                }
            }
            case FrameType.ERROR -> onConnectionError();
            case FrameType.RESUME -> {
                if (!connection.isClient) {
                    violate(ErrorCode.CONNECTION_ERROR, "RESUME must be the first frame", out);
                }
            }
            case FrameType.EXT -> {
                if (!frame.has(FrameFlag.IGNORE)) {
                    String text = "extension " + frame.extendedType() + " is not known";
                    violate(ErrorCode.CONNECTION_ERROR, text, out);
                }
            }
            // A late SETUP, or a RESUME_OK that answers nothing.
            default -> {}
        }
    }

    private void onConnectionError() {
        int code = frame.errorCode();
        if (ErrorCode.isOfSetup(code) && established) {
            return;
        }
        String text = frame.buffer().toString(frame.dataIndex(), frame.dataLength(),
                StandardCharsets.UTF_8);
        if (code == ErrorCode.CONNECTION_CLOSE) {
            connection.phase = Phase.CLOSING;
            connection.listener.onClosing(text);
            return;
        }
        connection.phase = Phase.CLOSED;
        connection.listener.onClosed(new Closed(Closed.Reason.PEER, code, text));
    }

    private void onUnreadable(DecodeStatus status, ByteBuf out) {
        switch (status) {
            // "If Metadata Length is greater than this value, the entire frame MUST be ignored." A
            // late SETUP is ignored with any contents.
            case METADATA_LENGTH, IGNORABLE, ZERO_TIME -> {}
            case REQUEST_N -> streamReceiver.onBadRequestN(out);
            case UNKNOWN_TYPE -> {
                String text = "frame type " + String.format("%#04x", frame.type())
                        + " is not known";
                violate(ErrorCode.CONNECTION_ERROR, text, out);
            }
            default -> violate(ErrorCode.CONNECTION_ERROR, status.text(), out);
        }
    }

    private void violate(int code, String text, ByteBuf out) {
        connection.end(Closed.Reason.VIOLATION, code, text, out);
    }

    /** Server: the first frame (Connection Establishment). */
    private void onFirstFrame(DecodeStatus status, int index, int length, ByteBuf out) {
        boolean isReadable = status == DecodeStatus.DECODED && frame.streamId() == 0;
        if (isReadable && frame.type() == FrameType.SETUP) {
            onSetup(out);
        } else if (isReadable && frame.type() == FrameType.RESUME) {
            // rsocket-js writes the minor version first.
            boolean isKnown = frame.majorVersion() + frame.minorVersion() == 1;
            if (isKnown) {
                violate(ErrorCode.REJECTED_RESUME, "there is no such session", out);
            } else {
                String text = SetupCheck.version(frame.majorVersion(), frame.minorVersion());
                violate(ErrorCode.INVALID_SETUP, text, out);
            }
        } else {
            String text = SetupCheck.whatIsWrong(frame.buffer(), index, length);
            violate(ErrorCode.INVALID_SETUP, text, out);
        }
    }

    private void onSetup(ByteBuf out) {
        if (frame.majorVersion() != 1 || frame.minorVersion() != 0) {
            String text = SetupCheck.version(frame.majorVersion(), frame.minorVersion());
            violate(ErrorCode.INVALID_SETUP, text, out);
            return;
        }
        if (frame.has(FrameFlag.RESUME)) {
            String text = "resume is not supported: connect without a resume token";
            violate(ErrorCode.REJECTED_SETUP, text, out);
            return;
        }
        boolean lease = frame.has(FrameFlag.LEASE);
        if (lease && connection.config.lease() == LeaseMode.OFF) {
            String text = "lease is not supported: connect without asking for leases";
            violate(ErrorCode.UNSUPPORTED_SETUP, text, out);
            return;
        }
        connection.timers.lifetimeMs = frame.lifetimeMs();
        if (lease) {
            connection.leases = new Leases();
        }
        connection.phase = Phase.DECIDING;
        ByteBuf buffer = frame.buffer();
        connection.listener.onSetup(new Setup(
                frame.keepaliveIntervalMs(), frame.lifetimeMs(), lease,
                mimeType(frame.metadataMimeTypeIndex()), mimeType(frame.dataMimeTypeIndex()),
                frame.metadataLength() < 0
                        ? null
                        : ByteBufUtil.getBytes(buffer, frame.metadataIndex(),
                                frame.metadataLength(), true),
                ByteBufUtil.getBytes(buffer, frame.dataIndex(), frame.dataLength(), true)));
    }

    private String mimeType(int index) {
        ByteBuf buffer = frame.buffer();
        return buffer.toString(index + 1, buffer.getUnsignedByte(index), StandardCharsets.UTF_8);
    }
}
