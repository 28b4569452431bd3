package io.stadium.rpc.server;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.stadium.rpc.Codec;
import io.stadium.rpc.server.Service.Kind;
import io.stadium.rpc.wire.RequestMetadata;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.SendResult;
import io.stadium.rsocket.frame.Interaction;
import java.io.IOException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * From a request to its function. A request is refused, answered at once, kept until its turn, or
 * its function begins.
 *
 * <p>A request that an inline function answers leaves no trace but a count, and nothing is
 * allocated for it. Every other call that begins is a {@link Work}.
 */
final class Dispatcher {
    static final Logger LOG = LoggerFactory.getLogger(RpcServer.class);

    /** Bytes that a client has not taken, above which its inline calls are answered Busy. */
    private static final long UNTAKEN_BYTES_MAX = 8 * 1024 * 1024;

    private final ServerLoop loop;
    private final RpcServer server;
    private final RpcServerBuilder settings;
    private final Route.Finder routes;
    private final RequestMetadata metadata = new RequestMetadata();
    private final InlineCall inlineCall = new InlineCall(metadata);

    /** The route of the last inline call, whose latency is measured with those before it. */
    private Route measured;

    Dispatcher(ServerLoop loop, RpcServer server) {
        this.loop = loop;
        this.server = server;
        settings = server.settings();
        routes = new Route.Finder(server.routes());
    }

    /** A request: answers it, or has its function begin. */
    void request(
            ServerConnection connection, int streamId, Interaction interaction,
            int initialRequestN, Payload payload) {
        loop.turnBegins();
        metadata.read(
                payload.metadata(), payload.metadataIndex(), payload.metadataLength(),
                connection.isComposite());
        int stream = interaction == Interaction.FIRE_AND_FORGET ? 0 : streamId;
        Route route = routes.find(metadata);
        if (route == null) {
            String text = metadata.hasRoute()
                    ? "RPC-002: there is no route `" + metadata.route() + "` here"
                    : "RPC-001: the request's metadata names no route";
            refuse(connection, stream, Refusal.invalid(text));
            return;
        }
        if (!route.takes(interaction)) {
            decline(connection, stream, route, Refusal.invalid("RPC-003: `" + route.name + "` is "
                    + Service.words(route.interaction) + ", and is not called so"));
            return;
        }
        long stated = metadata.leftMs();
        long leftMs = stated < 0 ? settings.deadlineMs : Math.min(stated, settings.deadlineMaxMs);
        if (loop.pace().waitedUs() / 1_000 >= leftMs) {
            decline(connection, stream, route, Refusal.expired(
                    "the deadline passed before the request had its turn"));
            return;
        }
        if (route.interceptors.length > 0 && !intercept(connection, stream, route, leftMs)) {
            return;
        }
        if (!route.isTrait && loop.refusesAll()) {
            decline(connection, stream, route,
                    Refusal.busy(loop.retryAfterMs(), "the instance quiesces"));
            return;
        }
        if (route.kind == Kind.INLINE) {
            if (route.isTrait || admitInline(connection, stream, route)) {
                runInline(connection, stream, route, leftMs, payload);
            }
            return;
        }
        begin(connection, stream, route, leftMs, initialRequestN, payload);
    }

    private boolean intercept(
            ServerConnection connection, int stream, Route route, long leftMs) {
        Refusal refusal = null;
        inlineCall.show(connection, route, leftMs);
        try {
            for (Interceptor interceptor : route.interceptors) {
                interceptor.before(inlineCall);
            }
        } catch (Refusal e) {
            refusal = e;
        } catch (Exception e) {
            refusal = Work.refusalOf(route, e);
        } finally {
            inlineCall.clear();
        }
        if (refusal != null) {
            decline(connection, stream, route, refusal);
        }
        return refusal == null;
    }

    private boolean admitInline(ServerConnection connection, int stream, Route route) {
        if (loop.pace().waitedUs() >= settings.inlineWaitMaxUs) {
            decline(connection, stream, route, Refusal.busy(loop.retryAfterMs(),
                    "the loop has more requests than it answers in time"));
            return false;
        }
        if (connection.rsocket().outgoingBytes() > UNTAKEN_BYTES_MAX) {
            decline(connection, stream, route, Refusal.busy(loop.retryAfterMs(),
                    "the connection does not take its answers in time"));
            return false;
        }
        return true;
    }

    private void runInline(
            ServerConnection connection, int stream, Route route, long leftMs, Payload payload) {
        Functions.Unary<Object, Object> function = route.function();
        Object answer;
        try {
            Object request = decode(route.requests, payload);
            inlineCall.show(connection, route, leftMs);
            answer = function.call(inlineCall, request);
        } catch (Refusal e) {
            decline(connection, stream, route, e);
            return;
        } catch (Throwable e) {
            decline(connection, stream, route, Work.refusalOf(route, e));
            return;
        } finally {
            inlineCall.clear();
        }
        if (stream != 0) {
            Refusal failure = answer(connection, stream, route, answer);
            if (failure != null) {
                decline(connection, stream, route, failure);
                return;
            }
        }
        measured = route;
        int calls = loop.pace().called();
        if (calls > 0) {
            measured(calls);
        }
        if (route.interceptors.length > 0) {
            loop.finished(route, Outcome.OK, System.nanoTime() - loop.pace().lookedAt()
                    + loop.pace().waitedUs() * 1_000);
        } else {
            loop.counts().count(route, Outcome.OK);
        }
    }

    /** Sends an answer. Returns the refusal to send instead, or {@code null}. */
    private static Refusal answer(
            ServerConnection connection, int stream, Route route, Object answer) {
        try {
            if (answer == null) {
                throw new NullPointerException("the function answered null");
            }
            SendResult result = connection.rsocket().payload(
                    stream, Completion.COMPLETE, null, answer, route.answers);
            return result == SendResult.TOO_LARGE ? Refusal.answerTooLarge() : null;
        } catch (RuntimeException e) {
            return Work.refusalOf(route, e);
        }
    }

    /** Inline calls were measured. */
    void measured(int calls) {
        loop.counts().latency(measured, loop.pace().waitedUs(), calls);
    }

    /** A function begins that outlives its turn, or waits until it may. */
    private void begin(
            ServerConnection connection, int stream, Route route, long leftMs,
            int initialRequestN, Payload payload) {
        boolean isStream = route.interaction.hasInitialRequestN();
        long now = loop.pace().lookedAt();
        // A stream lasts as long as it goes on, unless its caller states a time.
        long deadline = isStream && metadata.leftMs() < 0
                ? Long.MAX_VALUE : now + TimeUnit.MILLISECONDS.toNanos(leftMs);
        StartedCall call = new StartedCall(
                connection, route, metadata.bytes(), connection.isComposite(), deadline);
        if (isStream) {
            beginStream(connection, stream, route, call, deadline, initialRequestN, payload);
            return;
        }
        Work work = new Work(loop, connection, stream, route, call, now, deadline);
        if (loop.tryEnter()) {
            Object request;
            try {
                request = decode(route.requests, payload);
            } catch (Refusal e) {
                loop.abandonEntry();
                decline(connection, stream, route, e);
                return;
            }
            work.entered(loop.nowUs());
            keep(work);
            start(work, request);
            return;
        }
        work.hold(payload.dataBytes(), loop.nowUs());
        if (loop.holdBack(work)) {
            keep(work);
        } else {
            decline(connection, stream, route,
                    Refusal.busy(loop.queueRetryAfterMs(), "as many calls wait as may"));
        }
    }

    private void beginStream(
            ServerConnection connection, int stream, Route route, StartedCall call, long deadline,
            int initialRequestN, Payload payload) {
        StreamWork work;
        try {
            Object request = decode(route.requests, payload);
            long now = loop.pace().lookedAt();
            work = route.kind == Kind.PUBLISHING
                    ? new PublisherWork(
                            loop, connection, stream, route, call, now, deadline, initialRequestN,
                            request)
                    : new BlockingStreamWork(
                            loop, connection, stream, route, call, now, deadline, initialRequestN,
                            request, payload.isComplete());
        } catch (Refusal e) {
            decline(connection, stream, route, e);
            return;
        }
        keep(work);
        work.start();
    }

    /** The call is under way, and its stream's events go to it. */
    private void keep(Work work) {
        if (work.streamId != 0) {
            work.connection.rsocket().handle(work.streamId, work);
        }
        loop.began(work);
    }

    /** A call that has waited for the limit begins. */
    void startHeld(Work work) {
        Object request;
        try {
            ByteBuf data = Unpooled.wrappedBuffer(work.takeHeldRequest());
            request = read(work.route.requests, data);
        } catch (Refusal e) {
            work.refuse(e);
            return;
        }
        start(work, request);
    }

    private void start(Work work, Object request) {
        if (work.route.kind == Kind.BLOCKING) {
            try {
                server.workers().execute(() -> runBlocking(work, request));
            } catch (RejectedExecutionException e) {
                work.refuse(Refusal.busy(
                        loop.retryAfterMs(), "the queue for blocking functions is full"));
            }
            return;
        }
        Functions.Asynchronous<Object, Object> function = work.route.function();
        try {
            CompletionStage<?> stage = function.call(work.call, request);
            if (stage == null) {
                throw new NullPointerException("the function returned no stage");
            }
            if (stage instanceof Future<?> future) {
                work.cancels(future);
            }
            stage.whenComplete((answer, failure) -> {
                if (failure == null) {
                    work.answer(answer);
                } else {
                    work.fail(failure);
                }
            });
        } catch (Throwable e) {
            work.refuse(Work.refusalOf(work.route, e));
        }
    }

    private static void runBlocking(Work work, Object request) {
        if (work.call.isCancelled()) {
            // Its end has been counted, or the loop's timer is about to.
            return;
        }
        Functions.Unary<Object, Object> function = work.route.function();
        try {
            work.answer(function.call(work.call, request));
        } catch (Throwable e) {
            work.fail(e);
        }
    }

    /** Reads the data of a payload, whose buffer shows nothing else meanwhile. */
    private static Object decode(Codec<Object> codec, Payload payload) throws Refusal {
        ByteBuf buffer = payload.data();
        int readerIndex = buffer.readerIndex();
        int writerIndex = buffer.writerIndex();
        buffer.setIndex(payload.dataIndex(), payload.dataIndex() + payload.dataLength());
        try {
            return read(codec, buffer);
        } finally {
            buffer.setIndex(readerIndex, writerIndex);
        }
    }

    static Object read(Codec<Object> codec, ByteBuf bytes) throws Refusal {
        try {
            return codec.read(bytes);
        } catch (IOException e) {
            throw Refusal.malformed(e.getMessage());
        } catch (RuntimeException e) {
            LOG.debug("Codec failed: bytes={}", ByteBufUtil.hexDump(bytes), e);
            throw Refusal.malformed(e.toString());
        }
    }

    /** Answers a request of a route with a refusal, and counts it. */
    private void decline(
            ServerConnection connection, int stream, Route route, Refusal refusal) {
        refuse(connection, stream, refusal);
        loop.finished(route, refusal.outcome(), loop.pace().waitedUs() * 1_000);
    }

    private static void refuse(ServerConnection connection, int stream, Refusal refusal) {
        if (stream != 0) {
            connection.rsocket().error(stream, refusal.errorCode(), refusal.text());
        }
    }
}
