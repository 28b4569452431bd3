package io.stadium.rpc.server;

import com.sun.management.ThreadMXBean;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.connection.PayloadWriter;
import io.stadium.rsocket.frame.Interaction;
import io.stadium.rsocket.netty.EventLoops;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.RSocketClient;
import io.stadium.rsocket.netty.RSocketHandler;
import io.stadium.rsocket.netty.RSocketServer;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;

/**
 * Compares an inline function of 48 bytes with a bare {@link RSocketServer} that echoes: calls in a
 * second of the server thread's CPU time, 200 in flight on one connection. The rounds alternate, so
 * that what else the machine does disturbs both.
 */
final class ServeBench {
    private static final int WARM = 300_000;
    private static final int CALLS = 500_000;
    private static final int ROUNDS = 5;
    private static volatile long serverThread;

    private ServeBench() {}

    private static final class Echo implements RSocketHandler {
        @Override
        public void onRequest(
                RSocket rsocket, int streamId, Interaction interaction, int initialRequestN,
                Payload payload) {
            serverThread = Thread.currentThread().getId();
            byte[] request = payload.dataBytes();
            rsocket.payload(streamId, Completion.COMPLETE, null, request, PayloadWriter.BYTES);
        }
    }

    public static void main(String[] arguments) throws Exception {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Service echo = ServerTest.service().inline(ServerTest.unary("Echo"), (call, request) -> {
            serverThread = Thread.currentThread().getId();
            return request;
        }).build();
        try (EventLoops loops = EventLoops.start(1); EventLoops clients = EventLoops.start(1);
                RSocketServer.Bound bare = new RSocketServer(loops).handlers(Echo::new)
                        .bind(new InetSocketAddress("127.0.0.1", 0)).get();
                RpcServer server = RpcServer.builder().listen("127.0.0.1", 0).busyPollUs(0)
                        .inlineWaitMax(java.time.Duration.ofSeconds(30))
                        .service(echo).start()) {
            InetSocketAddress[] peers = {bare.address(), server.address()};
            String[] names = {"rsocket", "rpc"};
            Load[] loads = new Load[2];
            for (int peer = 0; peer < 2; peer++) {
                loads[peer] = new Load(
                        new RSocketClient(clients).connect(peers[peer]).get(), new byte[48]);
                loads[peer].run(WARM);
            }
            for (int round = 0; round < ROUNDS; round++) {
                for (int peer = 0; peer < 2; peer++) {
                    loads[peer].run(1_000);
                    long before = threads.getThreadCpuTime(serverThread);
                    loads[peer].run(CALLS);
                    long took = threads.getThreadCpuTime(serverThread) - before;
                    System.out.printf("%s %.0f calls in a CPU second%n",
                            names[peer], CALLS * 1e9 / took);
                }
            }
        }
    }
}
