package io.stadium.api;

/**
 * Counts of the jobs of a worker, by their ends.
 *
 * @param settled jobs that are done
 * @param released jobs that are to be tried again
 * @param buried jobs that were set aside
 * @param lost jobs whose lease was lost before their result was settled: somebody else does them
 */
public record WorkerCounts(long settled, long released, long buried, long lost) {}
