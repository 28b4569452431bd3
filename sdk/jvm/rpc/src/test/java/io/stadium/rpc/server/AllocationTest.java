package io.stadium.rpc.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A warm inline call allocates its message, and little else, on the server's loop. */
@Timeout(300)
class AllocationTest {
    private static final int WARM = 100_000;
    private static final int CALLS = 20_000;

    @Test
    void aWarmInlineCallAllocatesLittle() throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long[] loopThread = new long[1];
        try (RpcServer server = ServerTest.on(ServerTest.service().inline(
                ServerTest.unary("Echo"), (call, request) -> {
                    loopThread[0] = Thread.currentThread().getId();
                    return request;
                })).start(); Caller caller = new Caller(server)) {
            Load load = new Load(caller.rsocket, new byte[16]);
            load.run(WARM);
            long before = threads.getThreadAllocatedBytes(loopThread[0]);
            load.run(CALLS);
            long bytes = threads.getThreadAllocatedBytes(loopThread[0]) - before;
            // The array of 16 bytes has 32; housekeeping and tasks of the loop come on top.
            double each = (double) bytes / CALLS;
            System.out.printf("allocated for each inline call: %.1f bytes%n", each);
            assertTrue(each < 100, each + " bytes for each call");
            assertEquals(0, server.sum(Counts.Figure.INFLIGHT));
        }
    }
}
