// grpc-java: a unary call over its shaded Netty, one event loop a side, callbacks on that loop, no executor between.
package stadium.peers;

import io.grpc.ManagedChannel;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.netty.shaded.io.netty.channel.EventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollEventLoopGroup;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollServerSocketChannel;
import io.grpc.netty.shaded.io.netty.channel.epoll.EpollSocketChannel;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.CountDownLatch;
import stadium.peers.proto.EchoGrpc;
import stadium.peers.proto.Sample;

final class GrpcEcho {
    private static final int WINDOW_BYTES = 1 << 20;

    static void serve(Arguments arguments) throws IOException {
        EventLoopGroup loop = new EpollEventLoopGroup(1);
        NettyServerBuilder.forAddress(arguments.address("listen"))
                .bossEventLoopGroup(loop)
                .workerEventLoopGroup(loop)
                .channelType(EpollServerSocketChannel.class)
                .flowControlWindow(WINDOW_BYTES)
                .directExecutor()
                .addService(new EchoGrpc.EchoImplBase() {
                    @Override
                    public void echo(Sample request, StreamObserver<Sample> answer) {
                        answer.onNext(request);
                        answer.onCompleted();
                    }
                })
                .build()
                .start();
        arguments.listening();
    }

    static final class Client implements Opening {
        private final EventLoopGroup loop = new EpollEventLoopGroup(1);

        @Override
        public Caller open(InetSocketAddress address, int elements, Load load) throws Exception {
            ManagedChannel channel = NettyChannelBuilder.forAddress(address)
                    .usePlaintext()
                    .eventLoopGroup(loop)
                    .channelType(EpollSocketChannel.class)
                    .flowControlWindow(WINDOW_BYTES)
                    .directExecutor()
                    .build();
            Connection connection =
                    new Connection(channel, EchoGrpc.newStub(channel), new Samples(elements), load);
            connection.connect();
            return connection;
        }

        @Override
        public void begin(Runnable calls) {
            loop.next().execute(calls);
        }
    }

    private record Connection(ManagedChannel channel, EchoGrpc.EchoStub stub, Samples samples, Load load)
            implements Caller {
        /** A channel connects with its first call: this one, which nobody counts. */
        void connect() throws InterruptedException {
            CountDownLatch answered = new CountDownLatch(1);
            stub.echo(samples.sample(1), new StreamObserver<>() {
                @Override
                public void onNext(Sample sample) {}

                @Override
                public void onError(Throwable why) {
                    load.failed(why);
                }

                @Override
                public void onCompleted() {
                    answered.countDown();
                }
            });
            answered.await();
        }

        @Override
        public void call(int connection, long id, long startedNanos) {
            stub.echo(samples.sample(id), new Answer(load, connection, id, startedNanos));
        }

        @Override
        public void close() {
            channel.shutdownNow();
        }
    }

    private record Answer(Load load, int connection, long id, long startedNanos) implements StreamObserver<Sample> {
        @Override
        public void onNext(Sample sample) {
            load.answered(connection, id, sample.getId(), startedNanos);
        }

        @Override
        public void onError(Throwable why) {
            load.failed(why);
        }

        @Override
        public void onCompleted() {}
    }
}
