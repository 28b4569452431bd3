package io.stadium.api;

import com.google.protobuf.ByteString;
import io.stadium.v1.ReservedJob;
import java.time.Instant;

/** A job that this program holds: it was reserved, or a worker hands it to its handler. */
public final class Job {
    private final ReservedJob message;
    private final Lease lease;

    private volatile boolean isSettled;
    private volatile boolean isLost;

    Job(ReservedJob message) {
        this.message = message;
        lease = new Lease(message.getJob(), message.getReservation());
    }

    /**
     * The job's id. It is the same over all attempts: a handler that remembers it applies each
     * effect once.
     *
     * @return any 64 bits
     */
    public long id() {
        return lease.job();
    }

    /**
     * The lease, for the commands of a {@link Queue}.
     *
     * @return the right to work on the job
     */
    public Lease lease() {
        return lease;
    }

    /**
     * The payload.
     *
     * @return the bytes that were put
     */
    public ByteString payload() {
        return message.getPayload();
    }

    /**
     * The payload as a text.
     *
     * @return its bytes as UTF-8
     */
    public String payloadUtf8() {
        return message.getPayload().toStringUtf8();
    }

    /**
     * Which attempt this is.
     *
     * @return 1 for the first one
     */
    public int attempt() {
        return message.getAttempt();
    }

    /**
     * The job's key.
     *
     * @return empty where it has none
     */
    public String key() {
        return message.getKey();
    }

    /**
     * The priority.
     *
     * @return 0 to 9
     */
    public int priority() {
        return message.getPriority();
    }

    /**
     * When it was put, by the server's clock.
     *
     * @return the moment
     */
    public Instant putAt() {
        return Times.moment(message.getPutAtMs());
    }

    /**
     * When it became due, by the server's clock.
     *
     * @return the moment
     */
    public Instant dueAt() {
        return Times.moment(message.getDueMs());
    }

    /**
     * When the lease ends as it was given, by the server's clock. Extensions do not show here.
     *
     * @return the moment
     */
    public Instant leaseUntil() {
        return Times.moment(message.getUntilMs());
    }

    /**
     * Notes in a worker's handler that it has settled, forwarded or buried the job itself: the
     * worker leaves the job alone.
     */
    public void markSettled() {
        isSettled = true;
    }

    /**
     * True where the result of a worker's handler is not wanted any more: the lease is lost, or the
     * worker has ended. The handler's thread is interrupted then. A handler that works for long
     * asks from time to time, and returns.
     *
     * @return whether somebody else does the job
     */
    public boolean isLost() {
        return isLost;
    }

    boolean isSettled() {
        return isSettled;
    }

    void lose() {
        isLost = true;
    }

    /** Hides the payload. */
    @Override
    public String toString() {
        return "Job[" + Long.toUnsignedString(id()) + ", attempt " + attempt() + "]";
    }
}
