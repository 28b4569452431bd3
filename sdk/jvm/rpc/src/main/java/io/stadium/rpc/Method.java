package io.stadium.rpc;

import io.stadium.rsocket.frame.Interaction;
import java.util.Objects;

/**
 * A method of a service: its route, how its messages go, and their types.
 *
 * <p>Generated code has a constant of each method, so that a service and its callers agree.
 *
 * @param <Q> requests
 * @param <A> answers; {@link Void} where there are none
 */
public final class Method<Q, A> {
    private final String route;
    private final Interaction interaction;
    private final Codec<Q> requests;
    private final Codec<A> answers;
    private final boolean idempotent;

    private Method(
            String route, Interaction interaction, Codec<Q> requests, Codec<A> answers, boolean idempotent) {
        this.route = checked(route);
        this.interaction = interaction;
        this.requests = Objects.requireNonNull(requests, "requests");
        this.answers = answers;
        this.idempotent = idempotent;
    }

    /**
     * One request, one answer.
     *
     * @param route {@code service/Method}, at most 255 bytes
     * @param requests the codec of requests
     * @param answers the codec of answers
     * @param <Q> requests
     * @param <A> answers
     * @return the method, which is not idempotent
     * @throws IllegalArgumentException the route is empty, too long, or has no {@code /}
     */
    public static <Q, A> Method<Q, A> unary(String route, Codec<Q> requests, Codec<A> answers) {
        return new Method<>(
                route, Interaction.REQUEST_RESPONSE, requests, Objects.requireNonNull(answers, "answers"), false);
    }

    /**
     * One request, and the caller never learns what became of it.
     *
     * @param route {@code service/Method}, at most 255 bytes
     * @param requests the codec of requests
     * @param <Q> requests
     * @return the method
     * @throws IllegalArgumentException the route is empty, too long, or has no {@code /}
     */
    public static <Q> Method<Q, Void> oneWay(String route, Codec<Q> requests) {
        return new Method<>(route, Interaction.FIRE_AND_FORGET, requests, null, false);
    }

    /**
     * One request, many answers.
     *
     * @param route {@code service/Method}, at most 255 bytes
     * @param requests the codec of requests
     * @param answers the codec of answers
     * @param <Q> requests
     * @param <A> answers
     * @return the method, which is not idempotent
     * @throws IllegalArgumentException the route is empty, too long, or has no {@code /}
     */
    public static <Q, A> Method<Q, A> stream(String route, Codec<Q> requests, Codec<A> answers) {
        return new Method<>(
                route, Interaction.REQUEST_STREAM, requests, Objects.requireNonNull(answers, "answers"), false);
    }

    /**
     * Many requests, many answers.
     *
     * @param route {@code service/Method}, at most 255 bytes
     * @param requests the codec of requests
     * @param answers the codec of answers
     * @param <Q> requests
     * @param <A> answers
     * @return the method
     * @throws IllegalArgumentException the route is empty, too long, or has no {@code /}
     */
    public static <Q, A> Method<Q, A> channel(String route, Codec<Q> requests, Codec<A> answers) {
        return new Method<>(
                route, Interaction.REQUEST_CHANNEL, requests, Objects.requireNonNull(answers, "answers"), false);
    }

    /**
     * The same method, which may be called twice without harm: callers try it again and hedge it.
     *
     * @return another constant
     */
    public Method<Q, A> idempotent() {
        return new Method<>(route, interaction, requests, answers, true);
    }

    /**
     * Its route.
     *
     * @return {@code service/Method}
     */
    public String route() {
        return route;
    }

    /**
     * How its messages go.
     *
     * @return the interaction of RSocket
     */
    public Interaction interaction() {
        return interaction;
    }

    /**
     * The codec of its requests.
     *
     * @return the codec
     */
    public Codec<Q> requests() {
        return requests;
    }

    /**
     * The codec of its answers.
     *
     * @return the codec; {@code null} of a method without answers
     */
    public Codec<A> answers() {
        return answers;
    }

    /**
     * Whether it may be called twice without harm.
     *
     * @return whether it is idempotent
     */
    public boolean isIdempotent() {
        return idempotent;
    }

    @Override
    public String toString() {
        return route;
    }

    private static String checked(String route) {
        int length = route.getBytes(java.nio.charset.StandardCharsets.UTF_8).length;
        if (length > 255 || route.indexOf('/') < 1 || route.endsWith("/")) {
            throw new IllegalArgumentException("a route is SERVICE/METHOD, at most 255 bytes: " + route);
        }
        return route;
    }
}
