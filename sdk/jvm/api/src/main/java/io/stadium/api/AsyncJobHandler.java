package io.stadium.api;

import java.util.concurrent.CompletionStage;

/** Works on the jobs of a {@link Worker} without holding a thread meanwhile. */
@FunctionalInterface
public interface AsyncJobHandler {
    /**
     * Begins a job. Its stage decides as {@link JobHandler#handle} does: where it fails with
     * {@link Bury}, {@link Retry} or another error.
     *
     * @param job the job
     * @return completes when the job is done
     * @throws Exception as if the stage had failed with it
     */
    CompletionStage<?> handle(Job job) throws Exception;
}
