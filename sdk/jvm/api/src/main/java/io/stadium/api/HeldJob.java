package io.stadium.api;

import io.stadium.v1.ReservedJob;

/** A job that a worker holds, from its arrival until its result is settled. */
final class HeldJob {
    final Job job;

    /** When the lease began, or was extended last. The worker's loop alone uses this. */
    long leasedAt;

    /** The handler has not ended. The worker's loop alone uses this. */
    boolean isRunning;

    /** The handler's thread while it runs, to be interrupted; guarded. */
    private Thread thread;

    private boolean isInterrupted;

    HeldJob(ReservedJob message, long now) {
        job = new Job(message);
        leasedAt = now;
    }

    /** The handler begins on this thread. */
    synchronized void begin() {
        thread = Thread.currentThread();
        if (isInterrupted) {
            thread.interrupt();
        }
    }

    /** The handler has ended: no interruption reaches the next one of this thread. */
    synchronized void end() {
        thread = null;
        if (isInterrupted) {
            Thread.interrupted();
        }
    }

    /** The job is somebody else's now. */
    void lose() {
        job.lose();
        synchronized (this) {
            isInterrupted = true;
            if (thread != null) {
                thread.interrupt();
            }
        }
    }
}
