// The worker of the queue rows: puts jobs, then works on all of them; prints one line of JSON.
package stadium.peers;

import io.stadium.api.ApiKey;
import io.stadium.api.NewJob;
import io.stadium.api.Queue;
import io.stadium.api.Stadium;
import io.stadium.api.Worker;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;

final class StadiumWorker {
    /** Jobs of one put, as of `stadium queue put`. */
    private static final int BATCH = 1_000;

    static void run(Arguments arguments) throws Exception {
        int jobs = arguments.integer("jobs");
        ApiKey key = ApiKey.environment();
        try (Stadium stadium = Stadium.connect(arguments.text("connect"), key)) {
            Queue queue = stadium.queue(arguments.text("queue"));
            long began = System.nanoTime();
            for (int first = 0; first < jobs; first += BATCH) {
                List<NewJob> some = new ArrayList<>();
                for (int nth = first; nth < Math.min(first + BATCH, jobs); nth++) {
                    some.add(NewJob.of(String.format("job %08d", nth)));
                }
                queue.putAll(some);
            }
            double putS = secondsSince(began);

            // Handlers that do nothing need no thread of their own.
            CountDownLatch left = new CountDownLatch(jobs);
            began = System.nanoTime();
            Worker worker = stadium.worker(arguments.text("queue"))
                    .concurrency(arguments.integer("concurrency"))
                    .startAsync(job -> {
                        left.countDown();
                        return CompletableFuture.completedFuture(null);
                    });
            left.await();
            long settled = worker.drain().counts().settled();
            System.out.printf(Locale.ROOT, "{\"put_s\":%g,\"work_s\":%g,\"settled\":%d}%n", putS,
                    secondsSince(began), settled);
        }
        System.exit(0);
    }

    private static double secondsSince(long nanos) {
        return (System.nanoTime() - nanos) / 1e9;
    }
}
