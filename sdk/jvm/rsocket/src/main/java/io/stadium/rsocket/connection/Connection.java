package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Frame;
import io.stadium.rsocket.frame.FrameEncoder;
import io.stadium.rsocket.frame.FrameFlag;
import io.stadium.rsocket.frame.Interaction;

/**
 * One RSocket connection as a state machine, client or server. Either side may be requester and
 * responder at once.
 *
 * <p>The driver passes received bytes to {@link #receive} and calls {@link #advance} at
 * {@link #deadlineMs}. Events go to the {@link Listener}. Outgoing frames, with their 24-bit
 * lengths, are appended to the {@code out} of each call; the driver writes it to its transport.
 * {@code out} is one contiguous buffer. Times are milliseconds of any clock that does not go back.
 *
 * <p>A request that is answered before the listener's method returns never enters the table of
 * streams. Once tables and buffers are warm a message in one frame allocates nothing.
 *
 * <p>Instances are not thread-safe. A connection holds pooled memory while payloads or frames are
 * incomplete: call {@link #release} when the transport is gone.
 */
public final class Connection {
    final Config config;
    final ByteBufAllocator allocator;
    final Listener listener;
    final boolean isClient;
    final Streams streams = new Streams();
    private final Receiver receiver;
    private final Sender sender;
    final Timers timers;

    /** The request that is being handed out, while it is not in the table. */
    Stream fresh;

    Phase phase;

    /** Streams in the table that the peer opened; the others are this side's. */
    int peersStreams;

    /** {@code null} unless SETUP states that requests need leases. */
    Leases leases;

    /** The bytes of all unfinished payloads. */
    long partialBytes;

    private Connection(
            Config config, ByteBufAllocator allocator, Listener listener, boolean isClient,
                    long nowMs) {
        this.config = config;
        this.allocator = allocator;
        this.listener = listener;
        this.isClient = isClient;
        this.phase = isClient ? Phase.OPEN : Phase.NEW;
        timers = new Timers(this, nowMs);
        receiver = new Receiver(this);
        sender = new Sender(this);
    }

    /**
     * Begins a client's half of a connection, and appends the SETUP. Requests may follow at once,
     * unless they need leases.
     *
     * @param config bounds and options
     * @param setup the client's own data
     * @param allocator for frames and payloads that arrive in parts
     * @param listener receives the events
     * @param nowMs the current time in milliseconds
     * @param out the buffer to append to
     * @return the connection
     */
    public static Connection client(
            Config config, SetupOptions setup, ByteBufAllocator allocator, Listener listener,
            long nowMs,
            ByteBuf out) {
        Connection connection = new Connection(config, allocator, listener, true, nowMs);
        connection.sender.setup(setup, out);
        return connection;
    }

    /**
     * Begins a server's half of a connection that has just been accepted.
     *
     * @param config bounds and options
     * @param allocator for frames and payloads that arrive in parts
     * @param listener receives the events
     * @param nowMs the current time in milliseconds
     * @return the connection
     */
    public static Connection server(
            Config config, ByteBufAllocator allocator, Listener listener, long nowMs) {
        return new Connection(config, allocator, listener, false, nowMs);
    }

    /**
     * Takes bytes as they arrived on TCP, in any pieces.
     *
     * <p>All bytes of {@code in} are read, with one exception: behind a SETUP that is neither
     * accepted nor refused nothing is. The driver keeps the rest and passes it again after {@link
     * #accept}. After the connection has ended bytes are ignored.
     *
     * @param nowMs the current time in milliseconds
     * @param in the bytes; payloads handed to the listener are parts of it
     * @param out the buffer to append to
     */
    public void receive(long nowMs, ByteBuf in, ByteBuf out) {
        receive(nowMs, in, out, Integer.MAX_VALUE);
    }

    /**
     * The same for a part of the bytes, so that its answers can be sent before the next part.
     *
     * @param nowMs the current time in milliseconds
     * @param in the bytes; those that are left are passed again
     * @param out the buffer to append to
     * @param framesMax frames to take, at least 1
     */
    public void receive(long nowMs, ByteBuf in, ByteBuf out, int framesMax) {
        timers.nowMs = nowMs;
        receiver.receive(in, out, framesMax);
    }

    /**
     * Server: accepts the client. A client that needs leases waits for {@link #grantLease}. It has
     * no effect unless a SETUP waits for its answer.
     */
    public void accept() {
        if (phase == Phase.DECIDING) {
            phase = Phase.OPEN;
            timers.accepted();
        }
    }

    /**
     * Server: refuses the client. The driver writes {@code out} and closes the transport.
     *
     * @param code one of {@link ErrorCode#INVALID_SETUP}, {@link ErrorCode#UNSUPPORTED_SETUP} and
     *     {@link ErrorCode#REJECTED_SETUP}
     * @param text why
     * @param out the buffer to append to
     */
    public void refuse(int code, String text, ByteBuf out) {
        if (phase == Phase.DECIDING) {
            sender.error(0, code, text, out);
            phase = Phase.CLOSED;
        }
    }

    /**
     * Sends a request (Request Types).
     *
     * @param <T> the type of the message
     * @param interaction the interaction
     * @param initialRequestN how many payloads the responder may send at first; less than 1 counts
     *     as 1. It has no meaning for request-response and fire-and-forget
     * @param completion whether this is all that this side sends on a channel; it has no meaning
     *     elsewhere
     * @param attachment the driver's object for the stream, or {@code null}
     * @param metadata metadata, whose indices are left alone, or {@code null}
     * @param message what {@code writer} writes
     * @param writer appends the data
     * @param out the buffer to append to
     * @return the stream id, 1 to 2147483647, or {@link RequestError#result} of the error
     */
    public <T> int request(
            Interaction interaction, int initialRequestN, Completion completion, Object attachment,
            ByteBuf metadata, T message, PayloadWriter<? super T> writer, ByteBuf out) {
        return sender.request(
                interaction, initialRequestN, completion, attachment, metadata, message, writer,
                out);
    }

    /**
     * Sends a value: the response of a request-response, which it always completes and which needs
     * no credit, or the next value of a stream or a channel, which takes one of the credit.
     *
     * @param <T> the type of the message
     * @param streamId the stream
     * @param completion whether it is the last value
     * @param metadata metadata, whose indices are left alone, or {@code null}
     * @param message what {@code writer} writes
     * @param writer appends the data
     * @param out the buffer to append to
     * @return whether it was written
     */
    public <T> SendResult payload(
            int streamId, Completion completion, ByteBuf metadata, T message,
            PayloadWriter<? super T> writer, ByteBuf out) {
        return sender.payload(streamId, completion, metadata, message, writer, out);
    }

    /**
     * Completes this side of a stream without another value.
     *
     * @param streamId the stream
     * @param out the buffer to append to
     * @return whether it was written
     */
    public SendResult complete(int streamId, ByteBuf out) {
        return sender.complete(streamId, out);
    }

    /**
     * Ends a stream with an ERROR: a responder any stream, a requester a channel.
     *
     * @param streamId the stream
     * @param code {@link ErrorCode#APPLICATION_ERROR}, {@link ErrorCode#REJECTED},
     *     {@link ErrorCode#CANCELED}, {@link ErrorCode#INVALID}, or a code from 0x301 to 0xFFFFFFFE
     * @param text why; as much of it is sent as fits one frame
     * @param out the buffer to append to
     * @return whether it was written
     */
    public SendResult error(int streamId, int code, String text, ByteBuf out) {
        return sender.streamError(streamId, code, text, out);
    }

    /**
     * Lets the peer send more payloads on a stream.
     *
     * @param streamId the stream
     * @param n how many; 0 or less does nothing. The sum stops at 2147483647, which counts as
     *     unlimited
     * @param out the buffer to append to
     * @return whether it was written
     */
    public SendResult requestN(int streamId, int n, ByteBuf out) {
        return sender.requestN(streamId, n, out);
    }

    /**
     * Sends CANCEL. A requester ends the whole stream with it, a responder of a channel the values
     * of the requester.
     *
     * @param streamId the stream
     * @param out the buffer to append to
     * @return whether it was written
     */
    public SendResult cancel(int streamId, ByteBuf out) {
        return sender.cancel(streamId, out);
    }

    /**
     * Sends METADATA_PUSH. Before a SETUP was accepted and after the end it does nothing.
     *
     * @param metadata the metadata, whose indices are left alone
     * @param out the buffer to append to
     */
    public void metadataPush(ByteBuf metadata, ByteBuf out) {
        if (isSetUp()) {
            FrameEncoder.metadataPush(out, metadata);
        }
    }

    /**
     * Sends a KEEPALIVE that the peer answers, besides those that a client sends in its interval.
     *
     * @param out the buffer to append to
     */
    public void keepalive(ByteBuf out) {
        if (isSetUp()) {
            FrameEncoder.keepalive(out, FrameFlag.RESPOND, 0, null);
        }
    }

    /**
     * Lets the peer send requests (LEASE Frame). It replaces what is left of an earlier lease.
     * Nothing is sent to a peer that does not use leases: it may always send.
     *
     * @param ttlMs milliseconds that the lease lasts; less than 0 counts as 0, which stops the peer
     * @param requests how many requests; less than 0 counts as 0, which stops the peer
     * @param out the buffer to append to
     */
    public void grantLease(int ttlMs, int requests, ByteBuf out) {
        if (isSetUp() && leases != null) {
            int ttl = Math.max(ttlMs, 0);
            int count = Math.max(requests, 0);
            leases.peers.set(timers.nowMs + ttl, count);
            FrameEncoder.lease(out, ttl, count, null);
        }
    }

    /**
     * Ends the connection with an ERROR on stream 0.
     *
     * <p>With {@link ErrorCode#CONNECTION_CLOSE} open streams may end first, and new requests are
     * refused both ways; the driver closes the transport when {@link #streamsOpen} is 0. With any
     * other code nothing is sent or received afterwards.
     *
     * @param code the code
     * @param text why
     * @param out the buffer to append to
     */
    public void close(int code, String text, ByteBuf out) {
        if (phase == Phase.CLOSED) {
            return;
        }
        sender.error(0, code, text, out);
        phase = code == ErrorCode.CONNECTION_CLOSE && isSetUp() ? Phase.CLOSING : Phase.CLOSED;
    }

    /**
     * Does what is due: sends a KEEPALIVE, or ends a connection whose peer is silent or has sent no
     * SETUP. A call before {@link #deadlineMs} has no effect.
     *
     * @param nowMs the current time in milliseconds
     * @param out the buffer to append to
     */
    public void advance(long nowMs, ByteBuf out) {
        if (fresh == null) {
            streams.shrink();
        }
        timers.advance(nowMs, out);
    }

    /**
     * When {@link #advance} must be called next. Received bytes only move the time away. It comes
     * nearer with {@link #accept} and with a lease, granted or received.
     *
     * @return milliseconds of the driver's clock, or {@link Long#MAX_VALUE} after the end
     */
    public long deadlineMs() {
        return timers.deadlineMs();
    }

    /**
     * Whether requests may be sent. {@link #request} returns what else prevents one.
     *
     * @return whether the connection is set up and neither closing nor ended
     */
    public boolean isOpen() {
        return phase == Phase.OPEN;
    }

    /**
     * Whether a SETUP waits for {@link #accept} or {@link #refuse}.
     *
     * @return whether bytes are left unread meanwhile
     */
    public boolean isDeciding() {
        return phase == Phase.DECIDING;
    }

    /**
     * Whether one side has sent CONNECTION_CLOSE.
     *
     * @return whether open streams may end and no new ones begin
     */
    public boolean isClosing() {
        return phase == Phase.CLOSING;
    }

    /**
     * Whether nothing is sent or received any more.
     *
     * @return whether the connection has ended
     */
    public boolean isClosed() {
        return phase == Phase.CLOSED;
    }

    /**
     * Whether the peer needs leases from this side.
     *
     * @return whether SETUP asks for leases
     */
    public boolean isLeased() {
        return leases != null;
    }

    /**
     * After a {@link RequestError#NO_LEASE}: when the lease is over and a new one may have arrived.
     *
     * @return milliseconds, 0 if there is no lease
     */
    public int leaseRetryAfterMs() {
        return leases == null ? 0 : leases.ours.retryAfterMs(timers.nowMs);
    }

    /**
     * How many payloads the peer lets this side send on a stream.
     *
     * @param streamId the stream
     * @return the credit; 2147483647 is unlimited, and 0 is none or no such stream
     */
    public int credit(int streamId) {
        Stream stream = find(streamId);
        return stream == null ? 0 : stream.credit;
    }

    /**
     * The object that the driver gave a stream.
     *
     * @param streamId the stream
     * @return the object, or {@code null} where there is none or no such stream
     */
    public Object attachment(int streamId) {
        Stream stream = find(streamId);
        return stream == null ? null : stream.attachment;
    }

    /**
     * Gives a stream the driver's object. A stream that is gone takes none.
     *
     * @param streamId the stream
     * @param attachment the object, or {@code null}
     * @return whether there is such a stream
     */
    public boolean attach(int streamId, Object attachment) {
        Stream stream = find(streamId);
        if (stream == null) {
            return false;
        }
        stream.attachment = attachment;
        return true;
    }

    /**
     * How many streams are open, the peer's and this side's.
     *
     * @return streams
     */
    public int streamsOpen() {
        return streams.size() + (fresh == null ? 0 : 1);
    }

    /**
     * Visits all streams that the listener knows of, in no order. When the transport is gone these
     * are the calls that have failed.
     *
     * @param visitor called for each stream
     */
    public void forEachStream(StreamVisitor visitor) {
        if (fresh != null) {
            visitor.visit(fresh.id, fresh.attachment, role(fresh));
        }
        streams.forEach(stream -> {
            if (!stream.has(Stream.UNDELIVERED)) {
                visitor.visit(stream.id, stream.attachment, role(stream));
            }
        });
    }

    private static Role role(Stream stream) {
        return stream.isRequester() ? Role.REQUESTER : Role.RESPONDER;
    }

    /**
     * The bytes held of payloads whose last fragment has not arrived.
     *
     * @return bytes, with 256 for each payload
     */
    public long partialBytes() {
        return partialBytes;
    }

    /**
     * The bytes held of payloads and of the frame that have not arrived whole.
     *
     * @return bytes
     */
    public long unfinishedBytes() {
        return partialBytes + receiver.heldBytes();
    }

    /** Releases all memory of frames and payloads that are incomplete, and ends the connection. */
    public void release() {
        phase = Phase.CLOSED;
        receiver.release();
        streams.forEach(this::dropPartial);
    }

    boolean isSetUp() {
        return phase == Phase.OPEN || phase == Phase.CLOSING;
    }

    /** The stream of an id, which is being handed out or in the table; or {@code null}. */
    Stream find(int streamId) {
        Stream stream = fresh;
        return stream != null && stream.id == streamId ? stream : streams.find(streamId);
    }

    /** Notifies the peer, and ends the connection. */
    void end(Closed.Reason reason, int code, String text, ByteBuf out) {
        if (phase != Phase.CLOSED) {
            sender.error(0, code, text, out);
            phase = Phase.CLOSED;
            listener.onClosed(new Closed(reason, code, text));
        }
    }

    /** Answers a request that never became a stream, or no longer is one. */
    void refuseRequest(int streamId, int code, String text, ByteBuf out) {
        sender.error(streamId, code, text, out);
    }

    /** Forgets a stream. Its object may be in use for another one afterwards. */
    void endStream(Stream stream) {
        if (stream == fresh) {
            fresh = null;
        } else {
            streams.remove(stream);
            if (!stream.isRequester()) {
                peersStreams--;
            }
            dropPartial(stream);
        }
        streams.recycle(stream);
    }

    void dropPartial(Stream stream) {
        Partial partial = stream.partial;
        if (partial != null) {
            stream.partial = null;
            stream.clear(Stream.REASSEMBLING);
            partialBytes -= partial.bytes();
            partial.release();
        }
    }

    /** The peer's side is complete; the stream ends if this side is. */
    void receivedAll(Stream stream) {
        stream.set(Stream.RECEIVED_ALL);
        if (stream.isOver()) {
            endStream(stream);
        }
    }

    /** This side is complete; the stream ends if the peer's is. */
    void sentAll(Stream stream) {
        stream.set(Stream.SENT_ALL);
        stream.credit = 0;
        if (stream.isOver()) {
            endStream(stream);
        }
    }

    static int bytes(Frame frame) {
        return Math.max(frame.metadataLength(), 0) + frame.dataLength();
    }
}
