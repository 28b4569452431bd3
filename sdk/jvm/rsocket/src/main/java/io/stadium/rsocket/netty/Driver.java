package io.stadium.rsocket.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelOutboundBuffer;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.Connection;
import io.stadium.rsocket.connection.SetupOptions;
import io.stadium.rsocket.frame.ErrorCode;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Feeds a {@link Connection} with what a channel reads, and writes what the connection appends.
 *
 * <p>All frames of a read batch leave in one write and one flush. Frames that are sent outside of a
 * read batch leave in one write when the event loop has run its tasks. The outgoing queue is
 * bounded, see {@link TransportOptions}. All methods run on the channel's event loop.
 */
final class Driver extends ChannelInboundHandlerAdapter {
    private static final Logger LOG = LoggerFactory.getLogger(Driver.class);

    /** A buffer of so many bytes is sent before the batch ends. */
    private static final int OUT_BYTES_MAX = 64 * 1024;

    /**
     * Frames that are received before what they made is sent: the peer works on it while the others
     * are received. A send costs as much as some ten calls.
     */
    private static final int FRAMES_MAX = 64;

    /** Milliseconds that the peer has to take the last frames before the transport is closed. */
    private static final int LAST_WRITE_MS = 1_000;

    private final TransportOptions options;
    private final Events events;
    private final Runnable flushTask = this::flushScheduled;
    private final Config config;

    /** {@code null} for a server. */
    private final SetupOptions setup;

    final RSocket rsocket;
    Connection connection;
    private ChannelHandlerContext context;
    private ByteBuf out;

    /**
     * Whether a read batch is under way: its frames leave together, and {@code out} is appended to.
     */
    private boolean isReading;

    private boolean isFlushScheduled;

    /** Whether the channel has frames that have not been flushed. */
    private boolean isUnflushed;

    private boolean isEnded;

    /** Bytes behind a SETUP that the application has not answered yet. */
    private ByteBuf behindSetup;

    private ScheduledFuture<?> timer;
    private long timerMs = Long.MAX_VALUE;

    /** Since when the outgoing queue is above its bound and the peer has taken nothing. */
    private long stalledSinceMs = Long.MAX_VALUE;

    /** Bytes that have been written to the channel. */
    private long writtenBytes;

    /** Those of them that the peer had taken at {@link #stalledSinceMs}. */
    private long takenBytes;

    Driver(Config config, SetupOptions setup, TransportOptions options, RSocketHandler handler) {
        this.config = config;
        this.setup = setup;
        this.options = options;
        rsocket = new RSocket(this);
        events = new Events(this, handler);
    }

    static long nowMs() {
        return System.nanoTime() / 1_000_000;
    }

    Channel channel() {
        return context.channel();
    }

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
        this.context = context;
        if (context.channel().isActive()) {
            begin();
        }
    }

    @Override
    public void channelActive(ChannelHandlerContext context) {
        begin();
        context.fireChannelActive();
    }

    /** Begins the protocol on a channel that is connected, once. */
    void begin() {
        if (connection != null) {
            return;
        }
        if (setup == null) {
            connection = Connection.server(config, context.alloc(), events, nowMs());
        } else {
            connection = Connection.client(config, setup, context.alloc(), events, nowMs(), out());
            flush();
        }
        arm();
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        ByteBuf in = (ByteBuf) message;
        isReading = true;
        if (behindSetup != null) {
            behindSetup.writeBytes(in);
            in.release();
            return;
        }
        try {
            receive(in);
        } catch (Throwable e) {
            fail("the application failed", e);
        }
        if (in.isReadable() && !isEnded) {
            // Reading stops until the SETUP is answered, and the rest of a batch is added.
            behindSetup = context.alloc().buffer(in.readableBytes()).writeBytes(in);
            context.channel().config().setAutoRead(false);
        }
        in.release();
        sendFull();
    }

    /** Receives all bytes, or those up to a SETUP. The answers to a part leave before the next. */
    private void receive(ByteBuf in) {
        long nowMs = nowMs();
        int from;
        do {
            if (out != null && out.isReadable()) {
                writeAndFlush();
            }
            from = in.readerIndex();
            connection.receive(nowMs, in, out(), FRAMES_MAX);
        } while (in.isReadable() && in.readerIndex() != from && !isEnded);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext context) {
        isReading = false;
        flush();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext context) {
        boolean isWritable = context.channel().isWritable();
        stalledSinceMs = isWritable ? Long.MAX_VALUE : nowMs();
        takenBytes = takenBytes();
        context.channel().config().setAutoRead(mayRead());
        if (!isEnded) {
            arm();
            events.writabilityChanged();
        }
        context.fireChannelWritabilityChanged();
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
        end(new Closed(Closed.Reason.TRANSPORT, ErrorCode.CONNECTION_ERROR,
                "the transport was closed"));
        context.fireChannelInactive();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext context) {
        end(new Closed(Closed.Reason.TRANSPORT, ErrorCode.CONNECTION_ERROR,
                "the transport was closed"));
        if (out != null) {
            out.release();
            out = null;
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
        LOG.debug("Transport failed: channel={} error={}", context.channel(), cause.toString());
        end(new Closed(Closed.Reason.TRANSPORT, ErrorCode.CONNECTION_ERROR, String.valueOf(cause)));
        context.close();
    }

    /**
     * Whether the channel is read. A server stops while its outgoing queue is full; a client does
     * not, so that the two never wait for each other.
     */
    private boolean mayRead() {
        return behindSetup == null && (setup != null || context.channel().isWritable());
    }

    /** Bytes that the peer has taken. */
    private long takenBytes() {
        ChannelOutboundBuffer queue = context.channel().unsafe().outboundBuffer();
        return writtenBytes - (queue == null ? 0 : queue.totalPendingWriteBytes());
    }

    /** The buffer that outgoing frames are appended to. */
    ByteBuf out() {
        if (out == null) {
            out = OutBuffers.ofLoop().take();
        }
        return out;
    }

    /**
     * Frames have been appended: they are written with the batch, or when the event loop has run
     * its tasks.
     */
    void sent() {
        if (outgoingBytes() > options.outgoingBytesMax()) {
            String text = "the peer reads too slowly: more than " + options.outgoingBytesMax()
                    + " bytes are outgoing";
            end(new Closed(Closed.Reason.SLOW_PEER, ErrorCode.CONNECTION_ERROR, text));
            context.close();
        } else if (!isReading) {
            sendFull();
            if (!isFlushScheduled) {
                isFlushScheduled = true;
                context.executor().execute(flushTask);
            }
        }
    }

    /** Bytes that the peer has not taken. */
    long outgoingBytes() {
        ChannelOutboundBuffer queue = context.channel().unsafe().outboundBuffer();
        long queued = queue == null ? 0 : queue.totalPendingWriteBytes();
        return queued + (out == null ? 0 : out.readableBytes());
    }

    private void flushScheduled() {
        isFlushScheduled = false;
        flush();
    }

    private void flush() {
        if (connection != null && connection.isClosing() && connection.streamsOpen() == 0
                && !isEnded) {
            writeLast();
            end(new Closed(Closed.Reason.LOCAL, ErrorCode.CONNECTION_CLOSE,
                    "all streams have ended"));
            return;
        }
        writeAndFlush();
    }

    /**
     * Sends a buffer that is full: the peer works on it while the rest of the batch is received, and
     * the outgoing queue does not grow with the batch.
     */
    private void sendFull() {
        if (out != null && out.readableBytes() >= OUT_BYTES_MAX) {
            writeAndFlush();
        }
    }

    private void writeAndFlush() {
        write();
        if (isUnflushed) {
            isUnflushed = false;
            context.flush();
        }
    }

    private void write() {
        ByteBuf bytes = out;
        if (bytes == null) {
            return;
        }
        out = null;
        OutBuffers buffers = OutBuffers.ofLoop();
        int count = bytes.readableBytes();
        if (count > 0) {
            writtenBytes += count;
            isUnflushed = true;
            context.write(buffers.outgoing(bytes, context.alloc()), context.voidPromise());
        }
        buffers.giveBack(bytes);
    }

    /** Writes what is left, then closes the transport, whether the peer takes it or not. */
    private void writeLast() {
        ByteBuf bytes = out();
        out = null;
        Channel channel = context.channel();
        context.writeAndFlush(bytes).addListener(ChannelFutureListener.CLOSE);
        if (channel.isOpen()) {
            ScheduledFuture<?> close =
                    context.executor().schedule(() -> channel.close(), LAST_WRITE_MS,
                            TimeUnit.MILLISECONDS);
            channel.closeFuture().addListener(closed -> close.cancel(false));
        }
    }

    /** The application answered a SETUP: the bytes behind it are received now. */
    void setupAnswered() {
        arm();
        ByteBuf in = behindSetup;
        if (in == null) {
            return;
        }
        behindSetup = null;
        isReading = true;
        try {
            if (!isEnded) {
                receive(in);
            }
        } catch (Throwable e) {
            fail("the application failed", e);
        } finally {
            isReading = false;
            in.release();
        }
        context.channel().config().setAutoRead(mayRead());
        if (!isEnded) {
            sent();
        }
    }

    /** The protocol has ended: its last frames are written and the transport is closed. */
    void closed(Closed closed) {
        if (!isEnded) {
            writeLast();
            end(closed);
        }
    }

    /** Ends everything, once: the streams are notified, the memory is released. */
    private void end(Closed closed) {
        if (isEnded) {
            return;
        }
        isEnded = true;
        if (timer != null) {
            timer.cancel(false);
        }
        if (connection != null) {
            try {
                events.ended(closed);
            } catch (Throwable e) {
                LOG.error("Application failed: channel={}", context.channel(), e);
            }
            connection.release();
        }
        if (out != null && !isReading) {
            out.release();
            out = null;
        }
        if (behindSetup != null) {
            behindSetup.release();
            behindSetup = null;
        }
    }

    boolean isEnded() {
        return isEnded;
    }

    /** An exception of the application ends the connection: its state is not known. */
    private void fail(String text, Throwable e) {
        LOG.error("Application failed: channel={}", context.channel(), e);
        if (!isEnded) {
            connection.close(ErrorCode.CONNECTION_ERROR, text, out());
            closed(new Closed(Closed.Reason.LOCAL, ErrorCode.CONNECTION_ERROR, text + ": " + e));
        }
    }

    /** Makes the timer fire when the connection needs it. */
    void arm() {
        long stallMs = stalledSinceMs == Long.MAX_VALUE ? Long.MAX_VALUE : stalledSinceMs
                + options.stallMs();
        long deadlineMs = connection == null ? stallMs : Math.min(connection.deadlineMs(), stallMs);
        if (deadlineMs >= timerMs || isEnded) {
            return;
        }
        if (timer != null) {
            timer.cancel(false);
        }
        timerMs = deadlineMs;
        long delayMs = Math.max(0, deadlineMs - nowMs());
        timer = context.executor().schedule(this::onTimer, delayMs, TimeUnit.MILLISECONDS);
    }

    private void onTimer() {
        timerMs = Long.MAX_VALUE;
        timer = null;
        if (isEnded) {
            return;
        }
        long nowMs = nowMs();
        if (stalledSinceMs != Long.MAX_VALUE && takenBytes() != takenBytes) {
            takenBytes = takenBytes();
            stalledSinceMs = nowMs;
        }
        if (stalledSinceMs != Long.MAX_VALUE && nowMs - stalledSinceMs >= options.stallMs()) {
            String text = "the peer has read nothing for " + options.stallMs() + " ms";
            end(new Closed(Closed.Reason.SLOW_PEER, ErrorCode.CONNECTION_ERROR, text));
            context.close();
            return;
        }
        connection.advance(nowMs, out());
        flush();
        arm();
    }
}
