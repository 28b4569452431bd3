// rsocket-java: request-response over TCP, payloads decoded without a copy, one event loop, no metadata.
package stadium.peers;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.rsocket.Payload;
import io.rsocket.RSocket;
import io.rsocket.SocketAcceptor;
import io.rsocket.core.RSocketConnector;
import io.rsocket.core.RSocketServer;
import io.rsocket.frame.decoder.PayloadDecoder;
import io.rsocket.transport.netty.client.TcpClientTransport;
import io.rsocket.transport.netty.server.TcpServerTransport;
import io.rsocket.util.ByteBufPayload;
import java.io.IOException;
import java.net.InetSocketAddress;
import org.reactivestreams.Subscription;
import reactor.core.CoreSubscriber;
import reactor.core.publisher.Mono;
import reactor.netty.resources.LoopResources;
import reactor.netty.tcp.TcpClient;
import reactor.netty.tcp.TcpServer;
import stadium.peers.proto.Sample;

final class RSocketEcho {
    static void serve(Arguments arguments) {
        LoopResources loop = LoopResources.create("server", 1, false);
        TcpServer server = TcpServer.create().bindAddress(() -> arguments.address("listen")).runOn(loop);
        RSocketServer.create(SocketAcceptor.forRequestResponse(request -> {
                    try {
                        return Mono.just(payload(sample(request)));
                    } catch (IOException why) {
                        return Mono.error(why);
                    }
                }))
                .payloadDecoder(PayloadDecoder.ZERO_COPY)
                .bindNow(TcpServerTransport.create(server));
        arguments.listening();
    }

    private static Sample sample(Payload payload) throws IOException {
        try {
            return Sample.parseFrom(CodedInputStream.newInstance(payload.getData()));
        } finally {
            payload.release();
        }
    }

    private static Payload payload(Sample sample) throws IOException {
        int length = sample.getSerializedSize();
        ByteBuf buffer = ByteBufAllocator.DEFAULT.directBuffer(length);
        CodedOutputStream output = CodedOutputStream.newInstance(buffer.internalNioBuffer(0, length));
        sample.writeTo(output);
        output.flush();
        return ByteBufPayload.create(buffer.writerIndex(length));
    }

    static final class Client implements Opening {
        private final LoopResources loop = LoopResources.create("client", 1, true);

        @Override
        public Caller open(InetSocketAddress address, int elements, Load load) {
            TcpClient client = TcpClient.create().remoteAddress(() -> address).runOn(loop);
            RSocket rsocket = RSocketConnector.create()
                    .payloadDecoder(PayloadDecoder.ZERO_COPY)
                    .dataMimeType("application/vnd.google.protobuf")
                    .connect(TcpClientTransport.create(client))
                    .block();
            return new Connection(rsocket, new Samples(elements), load);
        }

        @Override
        public void begin(Runnable calls) {
            loop.onClient(true).next().execute(calls);
        }
    }

    private record Connection(RSocket rsocket, Samples samples, Load load) implements Caller {
        @Override
        public void call(int connection, long id, long startedNanos) {
            try {
                rsocket.requestResponse(payload(samples.sample(id)))
                        .subscribe(new Answer(load, connection, id, startedNanos));
            } catch (IOException why) {
                load.failed(why);
            }
        }

        @Override
        public void close() {
            rsocket.dispose();
        }
    }

    private record Answer(Load load, int connection, long id, long startedNanos) implements CoreSubscriber<Payload> {
        @Override
        public void onSubscribe(Subscription subscription) {
            subscription.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(Payload payload) {
            try {
                load.answered(connection, id, sample(payload).getId(), startedNanos);
            } catch (IOException why) {
                load.failed(why);
            }
        }

        @Override
        public void onError(Throwable why) {
            load.failed(why);
        }

        @Override
        public void onComplete() {}
    }
}
