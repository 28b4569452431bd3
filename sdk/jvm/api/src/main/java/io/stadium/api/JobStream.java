package io.stadium.api;

import io.stadium.rpc.client.CallOptions;
import io.stadium.v1.QueueMethods;
import io.stadium.v1.ReservedJob;
import io.stadium.v1.WorkRequest;
import java.time.Duration;
import java.util.concurrent.Flow;

/** A stream of jobs to a worker. Its events go to the worker's loop. */
final class JobStream implements Flow.Subscriber<ReservedJob> {
    /** The time of one stream; then it is opened again. A server allows no more. */
    private static final Duration STREAM_TIME = Duration.ofMinutes(9);

    private final WorkerCore core;

    /** Set before {@link #open} goes on. */
    private Flow.Subscription subscription;

    JobStream(WorkerCore core) {
        this.core = core;
    }

    void open(int credit) {
        WorkerSettings settings = core.settings;
        WorkRequest request = WorkRequest.newBuilder().setQueue(core.queue.name())
                .setLeaseMs(settings.lease().toMillis()).setWorker(settings.name()).build();
        core.queue.calls().publisher(QueueMethods.WORK, request,
                CallOptions.DEFAULT.deadline(STREAM_TIME)).subscribe(this);
        request(credit);
    }

    void request(int credit) {
        subscription.request(credit);
    }

    void cancel() {
        subscription.cancel();
    }

    @Override
    public void onSubscribe(Flow.Subscription its) {
        subscription = its;
    }

    @Override
    public void onNext(ReservedJob message) {
        core.loop.execute(() -> core.took(message));
    }

    @Override
    public void onError(Throwable failure) {
        core.loop.execute(() -> core.streamEnded(this, failure));
    }

    @Override
    public void onComplete() {
        core.loop.execute(() -> core.streamEnded(this, null));
    }
}
