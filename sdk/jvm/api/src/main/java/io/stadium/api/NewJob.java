package io.stadium.api;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import java.util.function.UnaryOperator;

/**
 * A job that is to be put, such as {@code NewJob.of("receipt of order 17").dedupId("order-17")}.
 * Instances are immutable. docs/queue.md describes what each part does.
 */
public final class NewJob {
    private final io.stadium.v1.NewJob message;

    private NewJob(io.stadium.v1.NewJob message) {
        this.message = message;
    }

    /**
     * A job that is due at once.
     *
     * @param payload for the worker, at most 1 MiB unless the server has another bound
     * @return the job
     */
    public static NewJob of(byte[] payload) {
        return of(ByteString.copyFrom(payload));
    }

    /**
     * A job that is due at once.
     *
     * @param payload a text, which the worker gets in UTF-8
     * @return the job
     */
    public static NewJob of(String payload) {
        return of(ByteString.copyFrom(payload, StandardCharsets.UTF_8));
    }

    /**
     * A job that is due at once.
     *
     * @param payload for the worker; it is not copied
     * @return the job
     */
    public static NewJob of(ByteString payload) {
        return new NewJob(io.stadium.v1.NewJob.newBuilder().setPayload(payload).build());
    }

    /**
     * Due after a delay.
     *
     * @param delay not negative; not beside {@link #runAt}
     * @return another job
     */
    public NewJob delay(Duration delay) {
        if (message.getRunAtMs() != 0) {
            throw both();
        }
        return with(builder -> builder.setDelayMs(Times.millis("delay", delay)));
    }

    /**
     * Due at a moment; at once where it has passed.
     *
     * @param moment not before 1970; not beside {@link #delay}
     * @return another job
     */
    public NewJob runAt(Instant moment) {
        if (message.getDelayMs() != 0) {
            throw both();
        }
        return with(builder -> builder.setRunAtMs(Times.millis("runAt", moment)));
    }

    private static IllegalArgumentException both() {
        return new IllegalArgumentException("a job has a delay or a runAt, not both");
    }

    /**
     * With a priority.
     *
     * @param priority 0 to 9, and 9 goes first; default 4
     * @return another job
     */
    public NewJob priority(int priority) {
        Bounds.check("priority", priority, 0, 9);
        return with(builder -> builder.setPriority(priority));
    }

    /**
     * Removed where it was not settled in time.
     *
     * @param time from the put on; zero, the default: never
     * @return another job
     */
    public NewJob timeToLive(Duration time) {
        return with(builder -> builder.setTimeToLiveMs(Times.millis("timeToLive", time)));
    }

    /**
     * At most one job with this id within its window: the put may be sent again.
     *
     * @param id at most 128 bytes; empty, the default: none
     * @return another job
     */
    public NewJob dedupId(String id) {
        return with(builder -> builder.setDedupId(id));
    }

    /**
     * Sets how long the dedup id is remembered.
     *
     * @param window zero, the default: as the queue does
     * @return another job
     */
    public NewJob dedupWindow(Duration window) {
        return with(builder -> builder.setDedupWindowMs(Times.millis("dedupWindow", window)));
    }

    /**
     * With a key: jobs of one key run one after another, in their order.
     *
     * @param key at most 128 bytes; empty, the default: none
     * @return another job
     */
    public NewJob key(String key) {
        return with(builder -> builder.setKey(key));
    }

    /**
     * Sets the attempts before it is dead.
     *
     * @param attempts 1 to 1,000; default as the queue does
     * @return another job
     */
    public NewJob attemptsMax(int attempts) {
        Bounds.check("attemptsMax", attempts, 1, 1_000);
        return with(builder -> builder.setAttemptsMax(attempts));
    }

    private NewJob with(UnaryOperator<io.stadium.v1.NewJob.Builder> change) {
        return new NewJob(change.apply(message.toBuilder()).build());
    }

    /**
     * The message of the contract.
     *
     * @return the message
     */
    public io.stadium.v1.NewJob message() {
        return message;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof NewJob job && job.message.equals(message);
    }

    @Override
    public int hashCode() {
        return Objects.hash(message);
    }

    /** Hides the payload. */
    @Override
    public String toString() {
        return "NewJob[" + message.getPayload().size() + " bytes]";
    }
}
