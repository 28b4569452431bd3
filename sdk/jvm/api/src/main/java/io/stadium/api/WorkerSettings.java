package io.stadium.api;

import java.time.Duration;

/** Settings of a worker, checked. */
record WorkerSettings(
        int concurrency, Duration lease, int settleBatchMax, Duration settleDelay,
        Duration retryMin, Duration retryMax, Duration drainWithin, String name) {
    /** The host's name and the process. */
    static String defaultName() {
        String host = System.getenv("HOSTNAME");
        String process = ":" + ProcessHandle.current().pid();
        String name = host == null || host.isBlank() ? "jvm" : host.strip();
        return name.substring(0, Math.min(name.length(), 48)) + process;
    }
}
