package io.stadium.api;

/**
 * The result of a drain.
 *
 * @param counts over the life of the worker
 * @param givenBack jobs that were given back because their handlers had not ended in time
 * @param unconfirmed jobs whose result the server did not confirm in time. Another worker gets them
 *     when their leases end
 */
public record Drained(WorkerCounts counts, int givenBack, int unconfirmed) {}
