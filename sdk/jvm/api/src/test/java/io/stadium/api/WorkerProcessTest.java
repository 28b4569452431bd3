package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.stadium.rpc.RpcException;
import io.stadium.v1.QueueStats;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Worker programs on the real server: killed, stopped, beside a server that is killed. */
@Timeout(180)
class WorkerProcessTest {
    /** The exit code of a JVM that SIGTERM ends. */
    private static final int TERMINATED = 143;

    @TempDir
    Path folder;

    private final List<Process> programs = new ArrayList<>();

    @AfterEach
    void end() throws InterruptedException {
        for (Process program : programs) {
            program.destroyForcibly().waitFor(20, TimeUnit.SECONDS);
        }
    }

    private Process worker(
            TestServer server, String queue, int millis, int concurrency, int drainMillis)
            throws IOException {
        Process worker = Soon.java(Soon.javaHome(), folder.toString(),
                WorkerProgram.class.getName(), server.address(), server.adminKey().toString(),
                queue, effects().toString(), "" + millis, "" + concurrency, "" + drainMillis);
        programs.add(worker);
        return worker;
    }

    private Path effects() {
        return folder.resolve("effects");
    }

    private List<String> lines(String kind) throws IOException {
        return !Files.exists(effects()) ? List.of() : Files.readAllLines(effects()).stream()
                .filter(line -> line.startsWith(kind + " "))
                .map(line -> line.substring(kind.length() + 1)).toList();
    }

    private static void terminate(Process worker) throws InterruptedException {
        worker.destroy();
        assertTrue(worker.waitFor(Soon.SECONDS, TimeUnit.SECONDS), "it goes on");
        assertEquals(TERMINATED, worker.exitValue());
    }

    @Test
    void aWorkerThatIsKilledInAJobLosesNothing() throws Exception {
        TestServer server = TestServer.shared();
        try (Stadium stadium = server.connect()) {
            Queue queue = WorkerTest.declared(stadium, "killed");
            queue.put("one");
            Process first = worker(server, "killed", 60_000, 1, 5_000);
            Soon.until("the job has begun", () -> lines("begin").size() == 1);
            first.destroyForcibly().waitFor();
            Process second = worker(server, "killed", 0, 1, 5_000);
            Soon.until("the job is settled", () -> queue.stats().getSettled() == 1);
            assertEquals(List.of("one"), lines("end"));
            terminate(second);
            assertEquals(0, queue.stats().getReserved());
        }
    }

    @Test
    void sigtermLetsHandlersFinishAndGivesBackTheOthers() throws Exception {
        TestServer server = TestServer.shared();
        try (Stadium stadium = server.connect()) {
            Queue queue = WorkerTest.declared(stadium, "terminated");
            queue.putAll(WorkerTest.jobs(0, 3));
            Process worker = worker(server, "terminated", 700, 2, 20_000);
            Soon.until("two have begun", () -> lines("begin").size() == 2);
            terminate(worker);
            assertEquals(2, lines("end").size());
            QueueStats stats = queue.stats();
            assertEquals(2, stats.getSettled());
            assertEquals(1, stats.getDue());
            assertEquals(0, stats.getReserved());
            // A handler that does not end does not hold the program up.
            Process stuck = worker(server, "terminated", 600_000, 2, 200);
            Soon.until("the third has begun", () -> lines("begin").size() == 3);
            terminate(stuck);
            assertEquals(0, queue.stats().getReserved());
        }
    }

    @Test
    void twoThousandJobsSurviveAKilledWorkerAndAKilledServer() throws Exception {
        try (TestServer server = new TestServer(); Stadium stadium = server.connect()) {
            Queue queue = WorkerTest.declared(stadium, "many");
            queue.putAll(WorkerTest.jobs(0, 1_000));
            queue.putAll(WorkerTest.jobs(1_000, 2_000));
            Process first = worker(server, "many", 4, 8, 10_000);
            Process second = worker(server, "many", 4, 8, 10_000);
            Soon.until("jobs are done", () -> stats(queue).getSettled() > 200);
            first.destroyForcibly().waitFor();
            assertTrue(stats(queue).getSettled() < 2_000);
            Process third = worker(server, "many", 4, 8, 10_000);
            Soon.until("more are done", () -> stats(queue).getSettled() > 700);
            assertTrue(stats(queue).getSettled() < 2_000);
            server.restart();
            Soon.until("all are settled", () -> stats(queue).getSettled() == 2_000);
            terminate(second);
            terminate(third);
            QueueStats stats = stats(queue);
            assertEquals(2_000, stats.getSettled(), "none is settled twice");
            assertEquals(2_000, stats.getPut());
            assertEquals(0, stats.getDue() + stats.getDelayed() + stats.getReserved()
                    + stats.getBuried() + stats.getDead());
            assertEquals(2_000, new HashSet<>(lines("end")).size());
        }
    }

    /** The figures, also while the server starts. */
    private static QueueStats stats(Queue queue) throws InterruptedException {
        while (true) {
            try {
                return queue.stats();
            } catch (RpcException e) {
                Thread.sleep(10);
            }
        }
    }
}
