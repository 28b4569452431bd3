package io.stadium.api;

import io.stadium.rpc.ProtocolError;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unknown;
import io.stadium.rpc.Busy;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.BiFunction;

/**
 * The outcome of one item of a request that had several: a value, or the error of this item.
 *
 * @param <T> values
 */
public final class Outcome<T> {
    private final T value;
    private final RpcException error;

    private Outcome(T value, RpcException error) {
        this.value = value;
        this.error = error;
    }

    static <T> Outcome<T> of(T value) {
        return new Outcome<>(Objects.requireNonNull(value, "value"), null);
    }

    static <T> Outcome<T> failed(RpcException error) {
        return new Outcome<>(null, error);
    }

    /** The error of an item, by the fields that all contracts have. */
    static RpcException refusal(
            String code, String reason, long retryAfterMs, boolean mayHaveHappened) {
        if (mayHaveHappened) {
            return new Unknown(code, reason);
        }
        if (retryAfterMs != 0) {
            return new Busy(Times.span(retryAfterMs), reason + " (" + code + ")");
        }
        return new Rejected(code, reason);
    }

    /** The only one of a list. */
    static <T> T only(List<T> items) {
        if (items.size() != 1) {
            throw new ProtocolError(
                    "the server answered with " + items.size() + " outcomes instead of one");
        }
        return items.get(0);
    }

    /** The outcomes of a request's items, in their order. */
    static <Q, A, T> List<T> each(List<Q> items, List<A> answers, BiFunction<Q, A, T> outcome) {
        if (items.size() != answers.size()) {
            throw new ProtocolError("the server answered with " + answers.size()
                    + " outcomes instead of " + items.size());
        }
        List<T> outcomes = new ArrayList<>(items.size());
        for (int at = 0; at < items.size(); at++) {
            outcomes.add(outcome.apply(items.get(at), answers.get(at)));
        }
        return List.copyOf(outcomes);
    }

    /**
     * Tests for a value.
     *
     * @return {@code false} where there is an error
     */
    public boolean isOk() {
        return error == null;
    }

    /**
     * The value.
     *
     * @return the value
     * @throws RpcException the error, where there is one
     */
    public T get() {
        if (error != null) {
            error.setStackTrace(new Throwable().getStackTrace());
            throw error;
        }
        return value;
    }

    /**
     * The error: {@link Rejected}, {@link Busy} or {@link Unknown}.
     *
     * @return empty where there is a value
     */
    public Optional<RpcException> error() {
        return Optional.ofNullable(error);
    }

    @Override
    public String toString() {
        return error == null ? value.toString() : error.getMessage();
    }
}
