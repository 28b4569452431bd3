package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Frame;
import io.stadium.rsocket.frame.FrameEncoder;
import io.stadium.rsocket.frame.FrameFlag;
import io.stadium.rsocket.frame.FrameType;
import io.stadium.rsocket.frame.Interaction;

/**
 * Deals with the frames of streams: requests, PAYLOAD, REQUEST_N, CANCEL, ERROR, and with
 * fragments.
 */
final class StreamReceiver {
    private static final String REQUEST_N_TEXT = "request n must be between 1 and 2147483647";
    private static final String COLLIDES = "BUSY retry_after_ms=0: stream ids collide";
    private static final String TOO_LARGE = "payload is larger than this side takes";
    private static final String ANSWER_TOO_LARGE = "answer is larger than this side takes";

    private final Connection connection;
    private final PeerIds peerIds = new PeerIds();

    /** The frame that has arrived. */
    private final Frame frame;

    /** The view that listeners get. */
    private final Payload payload;

    StreamReceiver(Connection connection, Frame frame, Payload payload) {
        this.connection = connection;
        this.frame = frame;
        this.payload = payload;
    }

    /**
     * Deals with a well-formed frame. Returns whether its type and its stream are those of streams.
     */
    boolean receive(ByteBuf out) {
        switch (frame.type()) {
            case FrameType.PAYLOAD -> onPayload(out);
            case FrameType.REQUEST_RESPONSE -> onRequest(Interaction.REQUEST_RESPONSE, 1, out);
            case FrameType.REQUEST_FNF -> onRequest(Interaction.FIRE_AND_FORGET, 0, out);
            case FrameType.REQUEST_STREAM -> onRequest(Interaction.REQUEST_STREAM,
                    frame.requestN(), out);
            case FrameType.REQUEST_CHANNEL -> onRequest(Interaction.REQUEST_CHANNEL,
                    frame.requestN(), out);
            case FrameType.REQUEST_N -> onRequestN();
            case FrameType.CANCEL -> onCancel();
            case FrameType.ERROR -> {
                if (frame.streamId() == 0) {
                    return false;
                }
                onError();
            }
            default -> {
                return false;
            }
        }
        return true;
    }

    private void onRequest(Interaction interaction, int initialRequestN, ByteBuf out) {
        if (!useId(out)) {
            return;
        }
        int id = frame.streamId();
        String busy = admit();
        if (busy != null) {
            // Nobody waits for the answer of a fire-and-forget.
            if (interaction != Interaction.FIRE_AND_FORGET) {
                connection.refuseRequest(id, ErrorCode.REJECTED, busy, out);
            }
            return;
        }
        if (frame.follows()) {
            onFirstFragment(interaction, initialRequestN, out);
            return;
        }
        if (Connection.bytes(frame) > connection.config.payloadBytesMax()) {
            if (interaction != Interaction.FIRE_AND_FORGET) {
                connection.refuseRequest(id, ErrorCode.INVALID, TOO_LARGE, out);
            }
            return;
        }
        boolean completes = interaction != Interaction.REQUEST_CHANNEL
                || frame.has(FrameFlag.COMPLETE);
        show(completes);
        if (interaction == Interaction.FIRE_AND_FORGET) {
            connection.listener.onRequest(id, interaction, initialRequestN, payload);
            return;
        }
        int state = completes ? Stream.RECEIVED_ALL : 0;
        connection.fresh =
                connection.streams.acquire().begin(id, interaction, state, initialRequestN, 0,
                        null);
        try {
            connection.listener.onRequest(id, interaction, initialRequestN, payload);
        } finally {
            keepFresh(out);
        }
    }

    /** The request that was handed out was not answered at once: its stream stays. */
    private void keepFresh(ByteBuf out) {
        Stream fresh = connection.fresh;
        if (fresh == null) {
            return;
        }
        connection.fresh = null;
        if (connection.phase == Phase.CLOSED) {
            // The listener ended the connection, and its streams with it.
            connection.streams.recycle(fresh);
            return;
        }
        if (connection.streams.insert(fresh)) {
            connection.peersStreams++;
            return;
        }
        int id = fresh.id;
        Object attachment = fresh.attachment;
        connection.streams.recycle(fresh);
        connection.refuseRequest(id, ErrorCode.REJECTED, COLLIDES, out);
        payload.set(null, Sender.text(COLLIDES, Frame.BYTES_MAX), true);
        connection.listener.onError(id, attachment, ErrorCode.REJECTED, payload);
    }

    /** Notes that the peer opens a stream. Returns whether the id is the peer's and unused. */
    private boolean useId(ByteBuf out) {
        int id = frame.streamId();
        boolean isClients = (id & 1) == 1;
        if (id == 0 || isClients == connection.isClient) {
            violate("stream " + id + " is not the sender's to open", out);
            return false;
        }
        if (peerIds.use(id, connection.find(id) != null) == PeerIds.Use.REUSED) {
            violate("stream " + id + " has been used", out);
            return false;
        }
        return true;
    }

    /** Why one more request of the peer is not served, as the text of a Busy; or {@code null}. */
    private String admit() {
        if (connection.phase == Phase.CLOSING) {
            return "BUSY retry_after_ms=0: connection is closing";
        }
        if (connection.peersStreams >= connection.config.streamsMax()) {
            return "BUSY retry_after_ms=0: " + connection.peersStreams + " streams are open";
        }
        Leases leases = connection.leases;
        if (leases != null && !leases.peers.take(connection.timers.nowMs)) {
            int retryAfterMs = leases.peers.retryAfterMs(connection.timers.nowMs);
            return "BUSY retry_after_ms=" + retryAfterMs + ": lease is used up or over";
        }
        return null;
    }

    private void onPayload(ByteBuf out) {
        Stream stream = connection.find(frame.streamId());
        if (stream == null) {
            return;
        }
        if (frame.follows() || stream.has(Stream.REASSEMBLING)) {
            onFragment(stream, out);
            return;
        }
        // "If a PAYLOAD for a REQUEST_RESPONSE is received that does not have a COMPLETE flag set,
        // the implementation MUST assume it is set." Elsewhere neither value nor completion means
        // nothing.
        boolean completes =
                stream.interaction == Interaction.REQUEST_RESPONSE || frame.has(FrameFlag.COMPLETE);
        boolean hasValue = frame.has(FrameFlag.NEXT);
        if (stream.has(Stream.RECEIVED_ALL) || !hasValue && !completes) {
            return;
        }
        if (hasValue) {
            if (!takeDemand(stream, out)) {
                return;
            }
            if (Connection.bytes(frame) > connection.config.payloadBytesMax()) {
                tooLarge(stream, out);
                return;
            }
        }
        int id = stream.id;
        Object attachment = stream.attachment;
        if (completes) {
            connection.receivedAll(stream);
        }
        if (hasValue) {
            show(completes);
            connection.listener.onPayload(id, attachment, payload);
        } else {
            connection.listener.onComplete(id, attachment);
        }
    }

    /**
     * Counts a value of the peer. Returns whether this side asked for it; if not, the connection
     * ends.
     */
    private boolean takeDemand(Stream stream, ByteBuf out) {
        if (stream.demand == 0) {
            violate("stream " + stream.id + " got more payloads than it asked for", out);
            return false;
        }
        stream.demand = Stream.take(stream.demand);
        return true;
    }

    /** A request that arrives in fragments begins. */
    private void onFirstFragment(Interaction interaction, int initialRequestN, ByteBuf out) {
        int id = frame.streamId();
        // Whether a channel's requester sends more is known with the last fragment.
        int state = Stream.UNDELIVERED
                | (interaction == Interaction.REQUEST_CHANNEL ? 0 : Stream.RECEIVED_ALL);
        Streams streams = connection.streams;
        Stream stream = streams.acquire().begin(id, interaction, state, initialRequestN, 0, null);
        if (!streams.insert(stream)) {
            streams.recycle(stream);
            connection.refuseRequest(id, ErrorCode.REJECTED, COLLIDES, out);
            return;
        }
        connection.peersStreams++;
        beginPartial(stream);
        reassemble(stream, out);
    }

    /** A PAYLOAD that is not alone: the first fragment of a value, or a later one of anything. */
    private void onFragment(Stream stream, ByteBuf out) {
        if (!stream.has(Stream.REASSEMBLING)) {
            if (stream.has(Stream.RECEIVED_ALL) || !takeDemand(stream, out)) {
                return;
            }
            beginPartial(stream);
        }
        reassemble(stream, out);
    }

    private void beginPartial(Stream stream) {
        stream.set(Stream.REASSEMBLING);
        stream.partial = new Partial(connection.allocator);
        connection.partialBytes += Partial.BYTES;
    }

    private void reassemble(Stream stream, ByteBuf out) {
        long bytes = connection.partialBytes + Connection.bytes(frame);
        if (bytes > (long) connection.config.payloadBytesMax() + Partial.BYTES) {
            tooLarge(stream, out);
            return;
        }
        Partial partial = stream.partial;
        partial.add(
                frame.buffer(), frame.metadataIndex(), frame.metadataLength(), frame.dataIndex(),
                frame.dataLength(), frame.has(FrameFlag.COMPLETE));
        connection.partialBytes = bytes;
        if (frame.follows()) {
            return;
        }
        connection.partialBytes -= partial.bytes();
        stream.partial = null;
        stream.clear(Stream.REASSEMBLING);
        try {
            deliver(stream, partial);
        } finally {
            partial.release();
        }
    }

    /** A payload that arrived in fragments is whole. */
    private void deliver(Stream stream, Partial partial) {
        int id = stream.id;
        Object attachment = stream.attachment;
        Interaction interaction = stream.interaction;
        int initialRequestN = stream.credit;
        boolean isRequest = stream.has(Stream.UNDELIVERED);
        stream.clear(Stream.UNDELIVERED);
        boolean completes = switch (interaction) {
            case REQUEST_CHANNEL -> partial.isComplete();
            case REQUEST_STREAM -> isRequest || partial.isComplete();
            case REQUEST_RESPONSE, FIRE_AND_FORGET -> true;
        };
        if (interaction == Interaction.FIRE_AND_FORGET) {
            connection.endStream(stream);
        } else if (completes) {
            connection.receivedAll(stream);
        }
        payload.set(partial.metadata(), partial.data(), completes);
        if (isRequest) {
            connection.listener.onRequest(id, interaction, initialRequestN, payload);
        } else {
            connection.listener.onPayload(id, attachment, payload);
        }
    }

    /** The peer sends more than this side takes: that stream ends. */
    private void tooLarge(Stream stream, ByteBuf out) {
        boolean isRequester = stream.isRequester();
        Interaction interaction = stream.interaction;
        int id = stream.id;
        boolean isKnown = !stream.has(Stream.UNDELIVERED);
        Object attachment = stream.attachment;
        String text = isRequester ? ANSWER_TOO_LARGE : TOO_LARGE;
        connection.endStream(stream);
        if (isRequester && interaction != Interaction.REQUEST_CHANNEL) {
            FrameEncoder.cancel(out, id);
        } else if (interaction != Interaction.FIRE_AND_FORGET) {
            connection.refuseRequest(id, ErrorCode.INVALID, text, out);
        }
        if (isKnown) {
            fail(id, attachment, text);
        }
    }

    /** A request n of 0 or of 2^31 and more: a request is refused, a stream fails. */
    void onBadRequestN(ByteBuf out) {
        int id = frame.streamId();
        if (frame.type() != FrameType.REQUEST_N) {
            if (useId(out)) {
                connection.refuseRequest(id, ErrorCode.INVALID, REQUEST_N_TEXT, out);
            }
            return;
        }
        Stream stream = connection.find(id);
        if (stream == null) {
            return;
        }
        boolean isKnown = !stream.has(Stream.UNDELIVERED);
        boolean sendsValues = stream.isRequester()
                ? stream.interaction == Interaction.REQUEST_CHANNEL
                : stream.interaction != Interaction.REQUEST_RESPONSE;
        if (isKnown && !sendsValues) {
            return;
        }
        Object attachment = stream.attachment;
        connection.endStream(stream);
        connection.refuseRequest(id, ErrorCode.INVALID, REQUEST_N_TEXT, out);
        if (isKnown) {
            fail(id, attachment, REQUEST_N_TEXT);
        }
    }

    private void onRequestN() {
        Stream stream = connection.find(frame.streamId());
        if (stream == null
                || !stream.interaction.hasInitialRequestN()
                || stream.has(Stream.SENT_ALL)) {
            return;
        }
        stream.credit = Stream.add(stream.credit, frame.requestN());
        if (!stream.has(Stream.UNDELIVERED)) {
            connection.listener.onRequestN(stream.id, stream.attachment, frame.requestN());
        }
    }

    private void onCancel() {
        Stream stream = connection.find(frame.streamId());
        if (stream == null) {
            return;
        }
        int id = stream.id;
        Object attachment = stream.attachment;
        if (!stream.isRequester()) {
            boolean isKnown = !stream.has(Stream.UNDELIVERED);
            connection.endStream(stream);
            if (isKnown) {
                connection.listener.onCancel(id, attachment, CancelScope.STREAM);
            }
            return;
        }
        // A responder that wants no more of a channel may go on sending itself.
        if (stream.interaction != Interaction.REQUEST_CHANNEL || stream.has(Stream.SENT_ALL)) {
            return;
        }
        CancelScope scope = stream.has(Stream.RECEIVED_ALL) ? CancelScope.STREAM
                : CancelScope.SENDING;
        connection.sentAll(stream);
        connection.listener.onCancel(id, attachment, scope);
    }

    private void onError() {
        Stream stream = connection.find(frame.streamId());
        // A responder hears an ERROR only from the requester of a channel.
        if (stream == null
                || !stream.isRequester() && stream.interaction != Interaction.REQUEST_CHANNEL) {
            return;
        }
        int id = stream.id;
        Object attachment = stream.attachment;
        boolean isKnown = !stream.has(Stream.UNDELIVERED);
        connection.endStream(stream);
        if (isKnown) {
            payload.set(frame.buffer(), 0, -1, frame.dataIndex(), frame.dataLength(), true);
            connection.listener.onError(id, attachment, frame.errorCode(), payload);
        }
    }

    private void fail(int id, Object attachment, String text) {
        payload.set(null, Sender.text(text, Frame.BYTES_MAX), true);
        connection.listener.onError(id, attachment, ErrorCode.INVALID, payload);
    }

    private void show(boolean isComplete) {
        payload.set(
                frame.buffer(), frame.metadataIndex(), frame.metadataLength(), frame.dataIndex(),
                frame.dataLength(), isComplete);
    }

    private void violate(String text, ByteBuf out) {
        connection.end(Closed.Reason.VIOLATION, ErrorCode.CONNECTION_ERROR, text, out);
    }
}
