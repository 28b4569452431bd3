package io.stadium.api;

import io.stadium.rpc.ProtocolError;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * A job that was put.
 *
 * @param job its id, the same over all attempts
 * @param isDuplicate its dedup id was known: nothing was put, and this is the first job
 */
public record Placed(long job, boolean isDuplicate) {
    static List<Placed> of(io.stadium.v1.Placed answer) {
        Set<Integer> duplicates = new HashSet<>(answer.getDuplicatesList());
        List<Placed> placed = new ArrayList<>();
        for (long job : answer.getJobsList()) {
            placed.add(new Placed(job, duplicates.contains(placed.size())));
        }
        return List.copyOf(placed);
    }

    /** The jobs of a put, in order. */
    static List<Placed> of(io.stadium.v1.Placed answer, int jobs) {
        if (answer.getJobsCount() != jobs) {
            throw new ProtocolError(
                    "the server answered with " + answer.getJobsCount() + " jobs, not " + jobs);
        }
        return of(answer);
    }
}
