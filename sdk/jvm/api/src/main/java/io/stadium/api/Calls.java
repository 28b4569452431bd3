package io.stadium.api;

import com.google.protobuf.Empty;
import io.stadium.rpc.Method;
import io.stadium.rpc.client.CallOptions;
import io.stadium.rpc.client.RpcClient;
import io.stadium.rpc.client.RpcStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.function.Function;

/** Calls of a server's methods, each with the API key as it is now. */
record Calls(RpcClient client, ApiKey key) {
    <Q, A> CompletableFuture<A> call(Method<Q, A> method, Q request) {
        return call(method, request, CallOptions.DEFAULT, Function.identity());
    }

    <Q, A, T> CompletableFuture<T> call(
            Method<Q, A> method, Q request, Function<? super A, ? extends T> convert) {
        return call(method, request, CallOptions.DEFAULT, convert);
    }

    <Q, A, T> CompletableFuture<T> call(
            Method<Q, A> method, Q request, CallOptions options,
            Function<? super A, ? extends T> convert) {
        Reply<A, T> reply = new Reply<>(convert);
        reply.begun(client.call(method, request, options.bearer(key.read()), reply));
        return reply;
    }

    /** Calls a method whose answer says nothing. */
    <Q> CompletableFuture<Void> run(Method<Q, Empty> method, Q request) {
        return call(method, request, nothing -> null);
    }

    <Q, A> RpcStream<A> stream(Method<Q, A> method, Q request) {
        return client.stream(method, request, CallOptions.DEFAULT.bearer(key.read()));
    }

    <Q, A> Flow.Publisher<A> publisher(Method<Q, A> method, Q request, CallOptions options) {
        // Each subscriber calls with the key of its time.
        return subscriber -> client.publisher(
                method, request, options.bearer(key.read())).subscribe(subscriber);
    }

    /**
     * The answers of several calls, in order. It fails with the first failure in that order.
     * Cancelling it gives all of them up.
     */
    static <T, R> CompletableFuture<R> all(
            List<CompletableFuture<List<T>>> calls, Function<List<T>, R> convert) {
        CompletableFuture<R> whole = new CompletableFuture<>() {
            @Override
            public boolean cancel(boolean mayInterrupt) {
                boolean isCancelled = super.cancel(mayInterrupt);
                if (isCancelled) {
                    calls.forEach(call -> call.cancel(mayInterrupt));
                }
                return isCancelled;
            }

            @Override
            public <U> CompletableFuture<U> newIncompleteFuture() {
                return new CompletableFuture<>();
            }
        };
        CompletableFuture<Void> ended =
                CompletableFuture.allOf(calls.toArray(CompletableFuture<?>[]::new));
        ended.whenComplete((none, failed) -> {
            List<T> items = new ArrayList<>();
            for (CompletableFuture<List<T>> call : calls) {
                if (call.isCompletedExceptionally()) {
                    call.whenComplete((answer, why) -> whole.completeExceptionally(why));
                    return;
                }
                items.addAll(call.join());
            }
            whole.complete(convert.apply(items));
        });
        return whole;
    }
}
