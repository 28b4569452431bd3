// The JVM SDK: one event loop a side, all guards at their defaults, answers to a handler on the loop.
//
// The loops poll for 50 us before they sleep, as by default in a process with several processors; a
// process that is pinned to one core would not poll at all.
package stadium.peers;

import io.stadium.rpc.Busy;
import io.stadium.rpc.Codec;
import io.stadium.rpc.Method;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.client.AnswerHandler;
import io.stadium.rpc.client.CallOptions;
import io.stadium.rpc.client.ClientListener;
import io.stadium.rpc.client.RpcClient;
import io.stadium.rpc.server.RpcServer;
import io.stadium.rpc.server.RpcServerBuilder;
import io.stadium.rpc.server.RpcServers;
import io.stadium.rpc.server.Service;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import stadium.peers.proto.Sample;

final class StadiumEcho {
    private static final int BUSY_POLL_US = 50;
    private static final int CONNECT_SECONDS_MAX = 10;
    private static final Codec<Sample> SAMPLES = Codec.protobuf(Sample.parser());
    private static final Method<Sample, Sample> ECHO = Method.unary("echo/Echo", SAMPLES, SAMPLES);

    static void serve(Arguments arguments) throws Exception {
        Service echo = Service.builder("echo", "1").inline(ECHO, (call, request) -> request).build();
        RpcServerBuilder server = RpcServer.builder()
                .listen(arguments.address("listen"))
                .busyPollUs(BUSY_POLL_US)
                .service(echo);
        RpcServers.serve(server, serving -> arguments.listening());
    }

    /** One client for all connections of a cell: it chooses the connection of each call itself. */
    static final class Client implements Opening {
        private RpcClient client;
        private Samples samples;

        @Override
        public void cell(InetSocketAddress address, int connections, int elements) throws Exception {
            CountDownLatch connected = new CountDownLatch(connections);
            samples = new Samples(elements);
            client = RpcClient.builder()
                    .instances(address.getHostString() + ":" + address.getPort())
                    .connectionsPerInstance(connections)
                    .busyPoll(Duration.ofNanos(BUSY_POLL_US * 1_000L))
                    .listener(new ClientListener() {
                        @Override
                        public void onConnected(String service, String address) {
                            connected.countDown();
                        }
                    })
                    .start();
            client.callBlocking(ECHO, samples.sample(1));
            if (!connected.await(CONNECT_SECONDS_MAX, TimeUnit.SECONDS)) {
                throw new IOException(connected.getCount() + " connections could not be made");
            }
        }

        @Override
        public Caller open(InetSocketAddress address, int elements, Load load) {
            return new Connection(client, samples, load);
        }

        @Override
        public void begin(Runnable calls) {
            client.call(ECHO, samples.sample(1), CallOptions.DEFAULT, new AnswerHandler<>() {
                @Override
                public void onAnswer(Sample answer) {
                    calls.run();
                }

                @Override
                public void onFailure(RpcException failure) {
                    failure.printStackTrace();
                    System.exit(1);
                }
            });
        }
    }

    private record Connection(RpcClient client, Samples samples, Load load) implements Caller {
        @Override
        public void call(int connection, long id, long startedNanos) {
            Answer answer = new Answer(load, connection, id, startedNanos);
            client.call(ECHO, samples.sample(id), CallOptions.DEFAULT, answer);
        }

        /** The connections of a cell share a client, which the first of them closes. */
        @Override
        public void close() {
            client.close();
        }
    }

    private record Answer(Load load, int connection, long id, long startedNanos)
            implements AnswerHandler<Sample> {
        @Override
        public void onAnswer(Sample answer) {
            load.answered(connection, id, answer.getId(), startedNanos);
        }

        @Override
        public void onFailure(RpcException failure) {
            if (failure instanceof Busy) {
                load.busy(connection);
            } else {
                load.failed(failure);
            }
        }
    }
}
