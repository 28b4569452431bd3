package io.stadium.rsocket.netty;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Connection;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.connection.RequestError;
import io.stadium.rsocket.connection.SendResult;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.Interaction;
import java.util.concurrent.CompletableFuture;

/**
 * One RSocket connection on a Netty channel.
 *
 * <p>{@link #requestResponse}, {@link #fireAndForget}, {@link #shutdown} and {@link #execute} may
 * be called from any thread. All other methods belong to the connection's event loop, where the
 * methods of {@link RSocketHandler} and {@link StreamHandler} run; elsewhere they throw
 * {@link IllegalStateException}. They write nothing after the connection has ended.
 */
public final class RSocket {
    private final Driver driver;

    RSocket(Driver driver) {
        this.driver = driver;
    }

    /**
     * The channel of this connection.
     *
     * @return a channel whose pipeline belongs to the driver
     */
    public Channel channel() {
        return driver.channel();
    }

    /**
     * Runs a task on the connection's event loop.
     *
     * @param task what to run; at once if the caller is on the event loop
     */
    public void execute(Runnable task) {
        if (driver.channel().eventLoop().inEventLoop()) {
            task.run();
        } else {
            driver.channel().eventLoop().execute(task);
        }
    }

    /**
     * Sends a request-response. It may be called from any thread.
     *
     * @param metadata metadata, or {@code null}
     * @param data data
     * @return the data of the response. It fails with {@link RSocketException} if an ERROR answers,
     *     the request is not sent, or the connection ends
     */
    public CompletableFuture<byte[]> requestResponse(byte[] metadata, byte[] data) {
        CompletableFuture<byte[]> future = new CompletableFuture<>();
        execute(() -> {
            int result = request(
                    Interaction.REQUEST_RESPONSE, 1, Completion.COMPLETE, new FutureHandler(future),
                    FutureHandler.wrap(metadata), data, PayloadWriter.BYTES);
            if (result < 0) {
                future.completeExceptionally(notSent(result));
            }
        });
        return future;
    }

    /**
     * Sends a fire-and-forget. It may be called from any thread.
     *
     * @param metadata metadata, or {@code null}
     * @param data data
     * @return completed when the frame is in the outgoing queue; it fails with {@link
     *     RSocketException} if it is not sent
     */
    public CompletableFuture<Void> fireAndForget(byte[] metadata, byte[] data) {
        CompletableFuture<Void> future = new CompletableFuture<>();
        execute(() -> {
            int result = request(
                    Interaction.FIRE_AND_FORGET, 1, Completion.COMPLETE, null,
                    FutureHandler.wrap(metadata), data, PayloadWriter.BYTES);
            if (result < 0) {
                future.completeExceptionally(notSent(result));
            } else {
                future.complete(null);
            }
        });
        return future;
    }

    private static RSocketException notSent(int result) {
        return new RSocketException(ErrorCode.REJECTED, "the request was not sent: "
                + RequestError.of(result));
    }

    /**
     * Sends a request, see {@link Connection#request}.
     *
     * @param <T> the type of the message
     * @param interaction the interaction
     * @param initialRequestN how many payloads the responder may send at first
     * @param completion whether this is all that this side sends on a channel
     * @param handler receives the events of the stream, or {@code null}
     * @param metadata metadata, whose indices are left alone, or {@code null}
     * @param message what {@code writer} writes
     * @param writer appends the data
     * @return the stream id, or {@link RequestError#result} of the error
     */
    public <T> int request(
            Interaction interaction, int initialRequestN, Completion completion,
            StreamHandler handler,
            ByteBuf metadata, T message, PayloadWriter<? super T> writer) {
        if (isGone()) {
            return RequestError.CLOSED.result();
        }
        int result = driver.connection.request(
                interaction, initialRequestN, completion, handler, metadata, message, writer,
                driver.out());
        driver.sent();
        return result;
    }

    /**
     * Sends a value, see {@link Connection#payload}.
     *
     * @param <T> the type of the message
     * @param streamId the stream
     * @param completion whether it is the last value
     * @param metadata metadata, whose indices are left alone, or {@code null}
     * @param message what {@code writer} writes
     * @param writer appends the data
     * @return whether it was written
     */
    public <T> SendResult payload(
            int streamId, Completion completion, ByteBuf metadata, T message,
                    PayloadWriter<? super T> writer) {
        if (isGone()) {
            return SendResult.UNKNOWN_STREAM;
        }
        return sent(driver.connection.payload(streamId, completion, metadata, message, writer,
                driver.out()));
    }

    /**
     * Completes this side of a stream without another value.
     *
     * @param streamId the stream
     * @return whether it was written
     */
    public SendResult complete(int streamId) {
        return isGone() ? SendResult.UNKNOWN_STREAM : sent(driver.connection.complete(streamId,
                driver.out()));
    }

    /**
     * Ends a stream with an ERROR: a responder any stream, a requester a channel.
     *
     * @param streamId the stream
     * @param code one of {@link ErrorCode} for streams, or one of the application
     * @param text why
     * @return whether it was written
     */
    public SendResult error(int streamId, int code, String text) {
        return isGone()
                ? SendResult.UNKNOWN_STREAM
                : sent(driver.connection.error(streamId, code, text, driver.out()));
    }

    /**
     * Lets the peer send more payloads on a stream.
     *
     * @param streamId the stream
     * @param n how many; 2147483647 is unlimited
     * @return whether it was written
     */
    public SendResult requestN(int streamId, int n) {
        return isGone()
                ? SendResult.UNKNOWN_STREAM
                : sent(driver.connection.requestN(streamId, n, driver.out()));
    }

    /**
     * Sends CANCEL: a requester ends the stream, a responder of a channel the values of the
     * requester.
     *
     * @param streamId the stream
     * @return whether it was written
     */
    public SendResult cancel(int streamId) {
        return isGone() ? SendResult.UNKNOWN_STREAM : sent(driver.connection.cancel(streamId,
                driver.out()));
    }

    private SendResult sent(SendResult result) {
        driver.sent();
        return result;
    }

    /**
     * Sets the receiver of a stream's further events; a responder does so for streams and channels.
     *
     * @param streamId the stream
     * @param handler the receiver, or {@code null}
     * @return whether there is such a stream
     */
    public boolean handle(int streamId, StreamHandler handler) {
        return !isGone() && driver.connection.attach(streamId, handler);
    }

    /**
     * How many payloads the peer lets this side send on a stream.
     *
     * @param streamId the stream
     * @return the credit; 2147483647 is unlimited, and 0 is none or no such stream
     */
    public int credit(int streamId) {
        return isGone() ? 0 : driver.connection.credit(streamId);
    }

    /**
     * How many streams are open, the peer's and this side's.
     *
     * @return streams
     */
    public int streamsOpen() {
        return isGone() ? 0 : driver.connection.streamsOpen();
    }

    /**
     * Whether the outgoing queue is below its bound, see {@link TransportOptions#readingStopsAt}.
     *
     * @return whether a sender of many payloads may go on
     */
    public boolean isWritable() {
        return !isGone()
                && driver.outgoingBytes() < driver.channel().config().getWriteBufferHighWaterMark();
    }

    /**
     * Bytes that were sent and that the peer has not taken.
     *
     * @return bytes, see {@link TransportOptions#outgoingBytesMax}
     */
    public long outgoingBytes() {
        return isGone() ? 0 : driver.outgoingBytes();
    }

    /**
     * Bytes held of frames and payloads that have not arrived whole.
     *
     * @return bytes
     */
    public long unfinishedBytes() {
        return isGone() ? 0 : driver.connection.unfinishedBytes();
    }

    /**
     * Sends METADATA_PUSH.
     *
     * @param metadata the metadata, whose indices are left alone
     */
    public void metadataPush(ByteBuf metadata) {
        if (!isGone()) {
            driver.connection.metadataPush(metadata, driver.out());
            driver.sent();
        }
    }

    /**
     * Lets the peer send requests (LEASE).
     *
     * @param ttlMs milliseconds that the lease lasts
     * @param requests how many requests
     */
    public void grantLease(int ttlMs, int requests) {
        if (isGone()) {
            return;
        }
        // A lease counts from the time that the connection knows, and a peer that waits for one
        // sends nothing that would tell it the time.
        driver.connection.advance(Driver.nowMs(), driver.out());
        if (!isGone()) {
            driver.connection.grantLease(ttlMs, requests, driver.out());
            driver.arm();
            driver.sent();
        }
    }

    /** Server: accepts the client whose SETUP {@link RSocketHandler#onSetup} showed. */
    public void accept() {
        if (!isGone()) {
            driver.connection.accept();
            driver.setupAnswered();
        }
    }

    /**
     * Server: refuses the client whose SETUP {@link RSocketHandler#onSetup} showed.
     *
     * @param code {@link ErrorCode#REJECTED_SETUP}, or another code of a SETUP
     * @param text why
     */
    public void refuse(int code, String text) {
        if (!isGone() && driver.connection.isDeciding()) {
            driver.connection.refuse(code, text, driver.out());
            driver.closed(new Closed(Closed.Reason.LOCAL, code, text));
        }
    }

    /**
     * Ends the connection with an ERROR on stream 0, see {@link Connection#close}. With
     * {@link ErrorCode#CONNECTION_CLOSE} the transport is closed when the open streams have ended.
     *
     * @param code the code
     * @param text why
     */
    public void close(int code, String text) {
        if (isGone()) {
            return;
        }
        driver.connection.close(code, text, driver.out());
        if (driver.connection.isClosed()) {
            driver.closed(new Closed(Closed.Reason.LOCAL, code, text));
        } else {
            driver.sent();
        }
    }

    /** Ends the connection when its open streams have ended. It may be called from any thread. */
    public void shutdown() {
        execute(() -> close(ErrorCode.CONNECTION_CLOSE, "closed by the application"));
    }

    private boolean isGone() {
        if (!driver.channel().eventLoop().inEventLoop()) {
            throw new IllegalStateException(
                    "this method belongs to the event loop: see RSocket.execute");
        }
        return driver.isEnded() || driver.connection == null;
    }
}
