package io.stadium.rpc.client;

import io.stadium.rpc.RpcException;
import java.util.concurrent.CompletableFuture;

/** The future of a unary call; cancelling it gives the call up. */
final class CallFuture<A> extends CompletableFuture<A> implements AnswerHandler<A> {
    private volatile CallHandle call;

    void begun(CallHandle its) {
        call = its;
        if (isCancelled()) {
            its.cancel();
        }
    }

    @Override
    public void onAnswer(A answer) {
        complete(answer);
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
