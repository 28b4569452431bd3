package io.stadium.api;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;

/**
 * A worker as a program: each job appends {@code begin PAYLOAD}, and after its time {@code end
 * PAYLOAD}, to a file. Arguments: address, key file, queue, file, milliseconds, concurrency, and
 * milliseconds for a drain.
 */
final class WorkerProgram {
    private WorkerProgram() {}

    public static void main(String[] arguments) throws Exception {
        Path effects = Path.of(arguments[3]);
        long millis = Long.parseLong(arguments[4]);
        try (Stadium stadium =
                Stadium.connect(arguments[0], ApiKey.file(Path.of(arguments[1])))) {
            stadium.worker(arguments[2]).concurrency(Integer.parseInt(arguments[5]))
                    .lease(Duration.ofMillis(1_500))
                    .drainWithin(Duration.ofMillis(Long.parseLong(arguments[6])))
                    .run(job -> {
                        write(effects, "begin " + job.payloadUtf8());
                        long end = System.nanoTime() + Duration.ofMillis(millis).toNanos();
                        // It ignores interruptions, as a handler may that was not made for them.
                        for (long left = millis; left > 0;
                                left = (end - System.nanoTime()) / 1_000_000) {
                            try {
                                Thread.sleep(left);
                            } catch (InterruptedException e) {
                                continue;
                            }
                        }
                        write(effects, "end " + job.payloadUtf8());
                    });
        }
    }

    private static void write(Path file, String line) throws java.io.IOException {
        // One write each, so that lines of several processes do not mix.
        Files.write(file, (line + "\n").getBytes(StandardCharsets.UTF_8),
                StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
