package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.frame.Frame;
import io.stadium.rsocket.frame.FrameEncoder;
import io.stadium.rsocket.frame.FrameFlag;
import io.stadium.rsocket.frame.FrameType;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.frame.SetupFields;
import java.nio.charset.StandardCharsets;

/**
 * The frames that the driver sends: requests, payloads, completions, errors, credit, cancellations.
 *
 * <p>Each call either appends whole frames or, with an error, nothing. A message is written right
 * into the outgoing buffer; the frame's length is filled in afterwards.
 */
final class Sender {
    private final Connection connection;
    private final Fragments fragments = new Fragments();

    /** The next request's stream id; negative when all have been used. */
    private int nextId;

    Sender(Connection connection) {
        this.connection = connection;
        nextId = connection.isClient ? 1 : 2;
    }

    void setup(SetupOptions options, ByteBuf out) {
        Config config = connection.config;
        boolean lease = config.lease() == LeaseMode.HONOUR;
        FrameEncoder.setup(out, new SetupFields(
                1, 0, config.keepaliveIntervalMs(), config.lifetimeMs(), lease, null,
                options.metadataMimeType(), options.dataMimeType(),
                options.metadata() == null ? null : Unpooled.wrappedBuffer(options.metadata()),
                options.data() == null ? null : Unpooled.wrappedBuffer(options.data())));
        if (lease) {
            connection.leases = new Leases();
        }
    }

    <T> int request(
            Interaction interaction, int initialRequestN, Completion completion, Object attachment,
            ByteBuf metadata, T message, PayloadWriter<? super T> writer, ByteBuf out) {
        RequestError error = mayRequest();
        if (error != null) {
            return error.result();
        }
        int id = nextId;
        boolean isChannel = interaction == Interaction.REQUEST_CHANNEL;
        boolean completes = isChannel && completion == Completion.COMPLETE;
        int initial = Math.max(1, initialRequestN);
        int flags = (metadata != null ? FrameFlag.METADATA : 0) | (completes ? FrameFlag.COMPLETE
                : 0);
        int start = FrameEncoder.begin(out, id, interaction.frameType(), flags);
        int extra = 0;
        if (interaction.hasInitialRequestN()) {
            out.writeInt(initial);
            extra = 4;
        }
        if (!finish(start, extra, metadata, message, writer, out)) {
            return RequestError.TOO_LARGE.result();
        }
        if (interaction != Interaction.FIRE_AND_FORGET) {
            int demand = interaction == Interaction.REQUEST_RESPONSE ? 1 : initial;
            int state = Stream.REQUESTER | (isChannel && !completes ? 0 : Stream.SENT_ALL);
            Streams streams = connection.streams;
            Stream stream = streams.acquire().begin(id, interaction, state, 0, demand, attachment);
            if (!streams.insert(stream)) {
                streams.recycle(stream);
                out.writerIndex(start);
                return RequestError.STREAMS_MAX.result();
            }
        }
        // Nothing can fail any more: the id and the lease are used.
        nextId += 2;
        if (connection.leases != null) {
            connection.leases.ours.take(connection.timers.nowMs);
        }
        return id;
    }

    /** Why no request may be sent now, or {@code null}. */
    private RequestError mayRequest() {
        if (connection.phase != Phase.OPEN) {
            return RequestError.CLOSED;
        }
        if (nextId < 0) {
            return RequestError.IDS_EXHAUSTED;
        }
        if (connection.streams.size() - connection.peersStreams >= connection.config.streamsMax()) {
            return RequestError.STREAMS_MAX;
        }
        Leases leases = connection.leases;
        return leases != null && !leases.ours.allows(connection.timers.nowMs)
                ? RequestError.NO_LEASE : null;
    }

    <T> SendResult payload(
            int streamId, Completion completion, ByteBuf metadata, T message,
            PayloadWriter<? super T> writer, ByteBuf out) {
        Stream stream = live(streamId);
        if (stream == null || stream.has(Stream.SENT_ALL | Stream.UNDELIVERED)) {
            return SendResult.UNKNOWN_STREAM;
        }
        boolean isResponse = stream.interaction == Interaction.REQUEST_RESPONSE;
        if (!isResponse && stream.credit == 0) {
            return SendResult.NO_CREDIT;
        }
        boolean completes = isResponse || completion == Completion.COMPLETE;
        int flags = FrameFlag.NEXT
                | (metadata != null ? FrameFlag.METADATA : 0)
                | (completes ? FrameFlag.COMPLETE : 0);
        int start = FrameEncoder.begin(out, streamId, FrameType.PAYLOAD, flags);
        if (!finish(start, 0, metadata, message, writer, out)) {
            return SendResult.TOO_LARGE;
        }
        if (completes) {
            connection.sentAll(stream);
        } else {
            stream.credit = Stream.take(stream.credit);
        }
        return SendResult.SENT;
    }

    /**
     * Writes metadata and data after a header, then the length; in fragments where it has to be.
     *
     * @return whether they fit the configuration; if not, the frame is taken back
     */
    private <T> boolean finish(
            int start, int extra, ByteBuf metadata, T message, PayloadWriter<? super T> writer,
                    ByteBuf out) {
        boolean isWritten = false;
        try {
            FrameEncoder.metadata(out, metadata);
            writer.write(message, out);
            isWritten = true;
        } finally {
            if (!isWritten) {
                out.writerIndex(start);
            }
        }
        Config config = connection.config;
        int metadataLength = metadata == null ? -1 : metadata.readableBytes();
        int length = out.writerIndex() - start - Frame.PREFIX_BYTES;
        int payload = length - Frame.HEADER_BYTES - extra - (metadata == null ? 0 : 3);
        int limit = config.sentFrameBytesMax();
        if (payload > config.payloadBytesMax() || length > limit && config.fragmentBytes() == 0) {
            out.writerIndex(start);
            return false;
        }
        if (length <= limit) {
            out.setMedium(start, length);
        } else {
            fragments.split(out, start, extra, metadataLength, limit);
        }
        return true;
    }

    SendResult complete(int streamId, ByteBuf out) {
        Stream stream = live(streamId);
        if (stream == null || stream.has(Stream.SENT_ALL | Stream.UNDELIVERED)) {
            return SendResult.UNKNOWN_STREAM;
        }
        FrameEncoder.payload(out, streamId, FrameFlag.COMPLETE, null, null);
        connection.sentAll(stream);
        return SendResult.SENT;
    }

    SendResult streamError(int streamId, int code, String text, ByteBuf out) {
        Stream stream = live(streamId);
        if (stream == null
                || stream.isRequester() && stream.interaction != Interaction.REQUEST_CHANNEL) {
            return SendResult.UNKNOWN_STREAM;
        }
        connection.endStream(stream);
        error(streamId, code, text, out);
        return SendResult.SENT;
    }

    /** Writes an ERROR with as much of the text as fits one frame. */
    void error(int streamId, int code, String text, ByteBuf out) {
        int bytesMax = connection.config.sentFrameBytesMax() - Frame.HEADER_BYTES - 4;
        FrameEncoder.error(out, streamId, code, text(text, bytesMax));
    }

    SendResult requestN(int streamId, int n, ByteBuf out) {
        Stream stream = live(streamId);
        if (stream == null
                || stream.has(Stream.RECEIVED_ALL)
                || stream.interaction == Interaction.REQUEST_RESPONSE) {
            return SendResult.UNKNOWN_STREAM;
        }
        if (n > 0) {
            stream.demand = Stream.add(stream.demand, n);
            FrameEncoder.requestN(out, streamId, n);
        }
        return SendResult.SENT;
    }

    SendResult cancel(int streamId, ByteBuf out) {
        Stream stream = live(streamId);
        if (stream == null || !stream.isRequester() && stream.has(Stream.RECEIVED_ALL)) {
            return SendResult.UNKNOWN_STREAM;
        }
        if (stream.isRequester()) {
            connection.endStream(stream);
        } else {
            connection.dropPartial(stream);
            connection.receivedAll(stream);
        }
        FrameEncoder.cancel(out, streamId);
        return SendResult.SENT;
    }

    /** A stream of a connection that has not ended, or {@code null}. */
    private Stream live(int streamId) {
        return connection.phase == Phase.CLOSED ? null : connection.find(streamId);
    }

    /** Continues with other ids, so that a test need not use up two thousand million. */
    void skipTo(int streamId) {
        nextId = streamId;
    }

    /** A text as the data of an ERROR, at most so many bytes of whole characters. */
    static ByteBuf text(String text, int bytesMax) {
        if (ByteBufUtil.utf8Bytes(text) <= bytesMax) {
            return Unpooled.copiedBuffer(text, StandardCharsets.UTF_8);
        }
        int end = Math.min(text.length(), bytesMax);
        while (ByteBufUtil.utf8Bytes(text, 0, end) > bytesMax
                || end > 0 && Character.isHighSurrogate(text.charAt(end - 1))) {
            end--;
        }
        return Unpooled.copiedBuffer(text.substring(0, end), StandardCharsets.UTF_8);
    }
}
