package io.stadium.api;

import io.stadium.rpc.ProtocolError;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.client.AnswerHandler;
import io.stadium.rpc.client.CallHandle;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;

/**
 * The answer of a call, converted; cancelling it gives the call up.
 *
 * @param <A> the answer as it arrives
 * @param <T> the answer as it is given
 */
final class Reply<A, T> extends CompletableFuture<T> implements AnswerHandler<A> {
    private final Function<? super A, ? extends T> convert;
    private volatile CallHandle call;

    Reply(Function<? super A, ? extends T> convert) {
        this.convert = convert;
    }

    void begun(CallHandle its) {
        call = its;
        if (isCancelled()) {
            its.cancel();
        }
    }

    @Override
    public void onAnswer(A answer) {
        T converted;
        try {
            converted = convert.apply(answer);
        } catch (RpcException e) {
            completeExceptionally(e);
            return;
        } catch (RuntimeException e) {
            completeExceptionally(new ProtocolError("the answer cannot be read: " + e));
            return;
        }
        complete(converted);
    }

    @Override
    public void onFailure(RpcException failure) {
        completeExceptionally(failure);
    }

    @Override
    public boolean cancel(boolean mayInterrupt) {
        boolean isCancelled = super.cancel(mayInterrupt);
        CallHandle its = call;
        if (isCancelled && its != null) {
            its.cancel();
        }
        return isCancelled;
    }

    /** Futures that are derived from this one are plain ones. */
    @Override
    public <U> CompletableFuture<U> newIncompleteFuture() {
        return new CompletableFuture<>();
    }
}
