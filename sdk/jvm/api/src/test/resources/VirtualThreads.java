import io.stadium.api.ApiKey;
import io.stadium.api.NewJob;
import io.stadium.api.Queue;
import io.stadium.api.Stadium;
import io.stadium.api.Worker;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** A thousand blocking calls at once, and a worker, on virtual threads. Arguments: address, key. */
public class VirtualThreads {
    private static final int CALLS = 1_000;

    public static void main(String[] arguments) throws Exception {
        try (ExecutorService virtual = Executors.newVirtualThreadPerTaskExecutor();
                Stadium stadium = Stadium.builder().addresses(arguments[0])
                        .key(ApiKey.file(Path.of(arguments[1])))
                        .deadline(Duration.ofSeconds(30)).start()) {
            Queue queue = stadium.queue("virtual");
            CountDownLatch begin = new CountDownLatch(1);
            List<Future<Long>> puts = new ArrayList<>();
            for (int nth = 0; nth < CALLS; nth++) {
                NewJob job = NewJob.of("" + nth);
                puts.add(virtual.submit(() -> {
                    begin.await();
                    return queue.put(job).job();
                }));
            }
            begin.countDown();
            for (Future<Long> put : puts) {
                put.get();
            }
            AtomicInteger notVirtual = new AtomicInteger();
            try (Worker worker = stadium.worker("virtual").concurrency(500).executor(virtual)
                    .start(job -> {
                        Thread.sleep(10);
                        // A blocking call within a handler.
                        queue.find(job.id());
                        if (!Thread.currentThread().isVirtual()) {
                            notVirtual.incrementAndGet();
                        }
                    })) {
                while (worker.counts().settled() < CALLS) {
                    Thread.sleep(5);
                    worker.check();
                }
            }
            System.out.println("put " + puts.size() + ", settled " + queue.stats().getSettled()
                    + ", on other threads " + notVirtual);
        }
    }
}
