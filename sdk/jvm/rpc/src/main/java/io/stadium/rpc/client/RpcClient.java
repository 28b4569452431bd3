package io.stadium.rpc.client;

import io.stadium.rpc.Cancelled;
import io.stadium.rpc.Explanation;
import io.stadium.rpc.Method;
import io.stadium.rpc.RpcException;
import io.stadium.rsocket.frame.Interaction;
import java.util.Objects;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Flow;

/**
 * Calls services over RSocket.
 *
 * <p>A call goes to an instance that is known to be healthy, has a deadline, and ends with an
 * answer or an {@link RpcException}. Where nothing can have happened, and for idempotent methods,
 * it is made again within a budget. The service of a call is the part of its method's route before
 * the slash.
 *
 * <p>All methods may be called from any thread, virtual threads included. Those that return a
 * future, a handle or a publisher never block. Futures complete, and handlers are called, on event
 * loops of the client, which must not be blocked; the blocking methods throw there.
 *
 * <p>A request message is encoded later by the event loop, and once more for each attempt: it must
 * not be changed before the call has ended.
 */
public final class RpcClient implements AutoCloseable {
    private final Settings settings;
    private final ClientLoop[] loops;

    RpcClient(Settings settings) {
        this.settings = settings;
        loops = new ClientLoop[settings.loops];
        for (int index = 0; index < loops.length; index++) {
            loops[index] = new ClientLoop(index, settings);
        }
    }

    /**
     * Begins with the default settings.
     *
     * @return a builder, which needs instances or a discovery
     */
    public static ClientBuilder builder() {
        return new ClientBuilder();
    }

    /**
     * A client of instances at these addresses, with the default settings.
     *
     * @param addresses {@code HOST:PORT}
     * @return a client that its caller closes
     */
    public static RpcClient to(String... addresses) {
        return builder().instances(addresses).start();
    }

    /**
     * Calls a unary method with the client's default deadline.
     *
     * @param method the method
     * @param request the request
     * @param <Q> requests
     * @param <A> answers
     * @return the answer, which may be there already. It fails with an {@link RpcException}.
     *     Cancelling it gives the call up
     */
    public <Q, A> CompletableFuture<A> call(Method<Q, A> method, Q request) {
        return call(method, request, CallOptions.DEFAULT);
    }

    /**
     * Calls a unary method.
     *
     * @param method the method
     * @param request the request
     * @param options deadline, key, token, trace, metadata
     * @param <Q> requests
     * @param <A> answers
     * @return the answer, which may be there already. It fails with an {@link RpcException}.
     *     Cancelling it gives the call up
     */
    public <Q, A> CompletableFuture<A> call(Method<Q, A> method, Q request, CallOptions options) {
        CallFuture<A> future = new CallFuture<>();
        future.begun(call(method, request, options, future));
        return future;
    }

    /**
     * Calls a unary method and hands the outcome to a handler. This form allocates least.
     *
     * @param method the method
     * @param request the request
     * @param options deadline, key, token, trace, metadata
     * @param handler receives the outcome on an event loop, or in this method where the call cannot
     *     be taken
     * @param <Q> requests
     * @param <A> answers
     * @return gives the call up
     */
    public <Q, A> CallHandle call(
            Method<Q, A> method, Q request, CallOptions options, AnswerHandler<? super A> handler) {
        check(method, Interaction.REQUEST_RESPONSE);
        Objects.requireNonNull(handler, "handler");
        ClientLoop loop = loop();
        Call call = new UnaryCall<A>(
                loop, loop.route(method), Objects.requireNonNull(request, "request"),
                traced(options), handler);
        loop.submit(call);
        return call;
    }

    /**
     * Calls a unary method and waits for the answer, with the client's default deadline.
     *
     * @param method the method
     * @param request the request
     * @param <Q> requests
     * @param <A> answers
     * @return the answer
     * @throws RpcException there is none; {@link Cancelled} where the thread was interrupted, which
     *     it is still afterwards
     * @throws IllegalStateException the thread is an event loop of this client
     */
    public <Q, A> A callBlocking(Method<Q, A> method, Q request) {
        return callBlocking(method, request, CallOptions.DEFAULT);
    }

    /**
     * Calls a unary method and waits for the answer.
     *
     * @param method the method
     * @param request the request
     * @param options deadline, key, token, trace, metadata
     * @param <Q> requests
     * @param <A> answers
     * @return the answer
     * @throws RpcException there is none; {@link Cancelled} where the thread was interrupted, which
     *     it is still afterwards
     * @throws IllegalStateException the thread is an event loop of this client
     */
    public <Q, A> A callBlocking(Method<Q, A> method, Q request, CallOptions options) {
        checkMayBlock();
        return await(call(method, request, options));
    }

    /**
     * Waits for the answer of a call, or for a future that is made of such answers. Virtual threads
     * are not pinned.
     *
     * @param future the future, which is cancelled where the thread is interrupted
     * @param <A> answers
     * @return the answer
     * @throws RpcException there is none; {@link Cancelled} where the thread was interrupted, which
     *     it is still afterwards
     * @throws IllegalStateException the thread is an event loop of this client
     */
    public <A> A await(CompletableFuture<A> future) {
        if (!future.isDone()) {
            checkMayBlock();
        }
        try {
            return future.get();
        } catch (InterruptedException e) {
            future.cancel(false);
            Thread.currentThread().interrupt();
            throw traced(new Cancelled());
        } catch (CancellationException e) {
            throw traced(new Cancelled());
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RpcException failure) {
                throw traced(failure);
            }
            throw new IllegalStateException(e.getCause());
        }
    }

    /** Gives an exception of an event loop the trace of the thread that called. */
    static RpcException traced(RpcException failure) {
        failure.setStackTrace(new Throwable().getStackTrace());
        return failure;
    }

    /**
     * Sends a one-way request with the client's default deadline.
     *
     * @param method the method
     * @param request the request
     * @param <Q> requests
     * @return completed when the request is in the outgoing queue of a connection; whether it
     *     arrives is not known. It fails with an {@link RpcException} where it is not sent
     */
    public <Q> CompletableFuture<Void> oneWay(Method<Q, Void> method, Q request) {
        return oneWay(method, request, CallOptions.DEFAULT);
    }

    /**
     * Sends a one-way request.
     *
     * @param method the method
     * @param request the request
     * @param options deadline, key, token, trace, metadata
     * @param <Q> requests
     * @return completed when the request is in the outgoing queue of a connection; whether it
     *     arrives is not known. It fails with an {@link RpcException} where it is not sent
     */
    public <Q> CompletableFuture<Void> oneWay(
            Method<Q, Void> method, Q request, CallOptions options) {
        check(method, Interaction.FIRE_AND_FORGET);
        CallFuture<Void> future = new CallFuture<>();
        ClientLoop loop = loop();
        Call call = new UnaryCall<Void>(
                loop, loop.route(method), Objects.requireNonNull(request, "request"),
                traced(options), future);
        loop.submit(call);
        future.begun(call);
        return future;
    }

    /**
     * Calls a method whose answer is a stream, without a deadline.
     *
     * @param method the method
     * @param request the request
     * @param <Q> requests
     * @param <A> messages of the stream
     * @return the stream, which its reader closes
     */
    public <Q, A> RpcStream<A> stream(Method<Q, A> method, Q request) {
        return stream(method, request, CallOptions.DEFAULT);
    }

    /**
     * Calls a method whose answer is a stream. The service sends as many messages ahead of the
     * reader as the options' credit.
     *
     * @param method the method
     * @param request the request
     * @param options deadline, key, token, trace, metadata, credit
     * @param <Q> requests
     * @param <A> messages of the stream
     * @return the stream, which its reader closes
     */
    public <Q, A> RpcStream<A> stream(Method<Q, A> method, Q request, CallOptions options) {
        check(method, Interaction.REQUEST_STREAM);
        ClientLoop loop = loop();
        RpcStream<A> stream = new RpcStream<>(this, options.credit());
        StreamCall<A> call = new StreamCall<>(
                loop, loop.route(method), Objects.requireNonNull(request, "request"),
                traced(options), options.credit(), stream.sink());
        stream.begun(call);
        loop.submit(call);
        return stream;
    }

    /**
     * A method whose answer is a stream, as a publisher. Each subscriber makes a call when it
     * requests its first messages; its requests are the credit of the service.
     *
     * @param method the method
     * @param request the request
     * @param options deadline, key, token, trace, metadata
     * @param <Q> requests
     * @param <A> messages of the stream
     * @return a publisher, whose subscribers are called on an event loop and must not block
     */
    public <Q, A> Flow.Publisher<A> publisher(
            Method<Q, A> method, Q request, CallOptions options) {
        check(method, Interaction.REQUEST_STREAM);
        Objects.requireNonNull(request, "request");
        return subscriber -> {
            ClientLoop loop = loop();
            Route route = loop.route(method);
            CallOptions traced = traced(options);
            new StreamSubscription<A>(subscriber, (sink, credit) ->
                    new StreamCall<>(loop, route, request, traced, credit, sink)).begin();
        };
    }

    /**
     * Opens a channel: a stream of requests and a stream of answers.
     *
     * @param method the method
     * @param first the first request
     * @param options deadline, key, token, trace, metadata, credit
     * @param <Q> requests
     * @param <A> answers
     * @return the channel, which its caller closes
     */
    public <Q, A> RpcChannel<Q, A> channel(Method<Q, A> method, Q first, CallOptions options) {
        check(method, Interaction.REQUEST_CHANNEL);
        ClientLoop loop = loop();
        RpcStream<A> answers = new RpcStream<>(this, options.credit());
        ChannelCall<Q, A> call = new ChannelCall<>(
                loop, loop.route(method), Objects.requireNonNull(first, "first"),
                traced(options), options.credit(), answers.sink());
        answers.begun(call);
        loop.submit(call);
        return new RpcChannel<>(this, call, answers);
    }

    /**
     * What the client knows of a service's instances, and the choice that it would make now for a
     * call without a key. It begins to watch a service that was not called before.
     *
     * @param service the name of the service
     * @return the view of one event loop
     */
    public CompletableFuture<Explanation> explain(String service) {
        return loop().explain(service, null);
    }

    /**
     * What the client knows of a service's instances, and the choice that it would make now for a
     * call with a key.
     *
     * @param service the name of the service
     * @param key the key
     * @return the view of one event loop
     */
    public CompletableFuture<Explanation> explain(String service, byte[] key) {
        return loop().explain(service, Objects.requireNonNull(key, "key"));
    }

    /**
     * Ends all calls, connections and threads of the client. Calls under way fail with
     * {@link Cancelled}, later ones with {@link io.stadium.rpc.Unavailable}.
     */
    @Override
    public void close() {
        for (ClientLoop loop : loops) {
            loop.close();
        }
        if (settings.ownsSource) {
            settings.source.close();
        }
    }

    /** The loop of the present thread's calls: its own, or always the same one. */
    private ClientLoop loop() {
        if (loops.length == 1) {
            return loops[0];
        }
        for (ClientLoop loop : loops) {
            if (loop.isOwnThread()) {
                return loop;
            }
        }
        return loops[(int) Long.remainderUnsigned(Thread.currentThread().getId(), loops.length)];
    }

    private static void check(Method<?, ?> method, Interaction interaction) {
        if (method.interaction() != interaction) {
            throw new IllegalArgumentException(
                    method + " is a method of " + method.interaction() + ", not of " + interaction);
        }
    }

    void checkMayBlock() {
        for (ClientLoop loop : loops) {
            if (loop.isOwnThread()) {
                throw new IllegalStateException("an event loop of the client must not wait for it");
            }
        }
    }

    /** Asks for the place in a trace here, on the thread that makes the call. */
    private CallOptions traced(CallOptions options) {
        TraceContext trace = options.trace() != null ? options.trace() : settings.trace;
        if (trace != null) {
            String parent = trace.traceParent();
            return parent == null ? options
                    : options.trace(new Traced(parent, trace.traceState()));
        }
        return options == CallOptions.DEFAULT ? null : options;
    }

    /** A place in a trace, as it was when a call was made. */
    private record Traced(String traceParent, String traceState) implements TraceContext {}
}
