package io.stadium.api;

/**
 * Works on the jobs of a {@link Worker}; several threads call it at once.
 *
 * <p>A job may be handed out more than once. So a handler has the effect of once for a job's id, or
 * does no harm when it runs again.
 */
@FunctionalInterface
public interface JobHandler {
    /**
     * Does a job. Where this returns, the job is settled.
     *
     * @param job the job
     * @throws Bury the job will never work: it is set aside, with the text as its reason
     * @throws Retry the job is to be tried again
     * @throws Exception the job is tried again after the queue's back-off
     */
    void handle(Job job) throws Exception;
}
