import io.stadium.memcache.Expiry;
import io.stadium.memcache.MemcacheClient;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** Blocking calls of 1,000 virtual threads. */
public class VirtualThreads {
    public static void main(String[] arguments) throws Exception {
        AtomicInteger right = new AtomicInteger();
        CountDownLatch ended = new CountDownLatch(1_000);
        try (MemcacheClient client = MemcacheClient.connect(arguments[0])) {
            for (int at = 0; at < 1_000; at++) {
                String key = "key:" + at;
                Thread.startVirtualThread(() -> {
                    try {
                        for (int round = 0; round < 10; round++) {
                            client.set(key, key + round, Expiry.NEVER).ignore();
                            if (client.get(key).utf8().equals(key + round)) {
                                right.incrementAndGet();
                            }
                        }
                    } finally {
                        ended.countDown();
                    }
                });
            }
            ended.await();
        }
        System.out.println("read " + right);
    }
}
