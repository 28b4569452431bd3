// rsocket-java serving request-streams of one message a second, one event loop.
//
// `--timer interval` is what its users write: Flux.interval for each stream. `--timer wheel` drives all streams from one timer on
// the event loop, which lets it hold more of them.
package stadium.peers;

import io.netty.buffer.ByteBufAllocator;
import io.netty.channel.EventLoop;
import io.rsocket.Payload;
import io.rsocket.SocketAcceptor;
import io.rsocket.core.RSocketServer;
import io.rsocket.frame.decoder.PayloadDecoder;
import io.rsocket.transport.netty.server.TcpServerTransport;
import io.rsocket.util.ByteBufPayload;
import java.time.Duration;
import java.util.function.Function;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;
import reactor.core.publisher.Flux;
import reactor.netty.resources.LoopResources;
import reactor.netty.tcp.TcpServer;

final class RSocketTicks {
    private static final Duration SECOND = Duration.ofSeconds(1);

    static void serve(Arguments arguments) {
        LoopResources loop = LoopResources.create("server", 1, false);
        TcpServer server = TcpServer.create()
                .bindAddress(() -> arguments.address("listen"))
                .option(io.netty.channel.ChannelOption.SO_BACKLOG, 65_535)
                .runOn(loop);
        RSocketServer.create(SocketAcceptor.forRequestStream(streams(arguments, loop)))
                .payloadDecoder(PayloadDecoder.ZERO_COPY)
                .bindNow(TcpServerTransport.create(server));
        arguments.listening();
    }

    private static Function<Payload, Flux<Payload>> streams(Arguments arguments, LoopResources loop) {
        if (arguments.text("timer").equals("interval")) {
            return request -> {
                request.release();
                return Flux.interval(SECOND).onBackpressureDrop().map(count -> message(count + 1));
            };
        }
        EventLoop eventLoop = (EventLoop) loop.onServer(true).next();
        Wheel<Ticks> wheel = new Wheel<>(eventLoop, arguments.integer("tick-ms", 10), (ticks, tick) -> ticks.tick());
        return request -> {
            request.release();
            return Flux.from(subscriber -> {
                Ticks ticks = new Ticks(subscriber);
                subscriber.onSubscribe(ticks);
                wheel.add(ticks, wheel.firstTick());
            });
        };
    }

    private static Payload message(long count) {
        return ByteBufPayload.create(ByteBufAllocator.DEFAULT.directBuffer(8).writeLong(count));
    }

    /** One stream of the wheel; everything happens on the event loop. */
    private static final class Ticks implements Subscription {
        private final Subscriber<? super Payload> subscriber;
        private long credit;
        private long count;
        private boolean cancelled;

        Ticks(Subscriber<? super Payload> subscriber) {
            this.subscriber = subscriber;
        }

        boolean tick() {
            if (!cancelled && credit > 0) {
                credit -= credit == Long.MAX_VALUE ? 0 : 1;
                count += 1;
                subscriber.onNext(message(count));
            }
            return !cancelled;
        }

        @Override
        public void request(long more) {
            credit = credit + more < 0 ? Long.MAX_VALUE : credit + more;
        }

        @Override
        public void cancel() {
            cancelled = true;
        }
    }
}
