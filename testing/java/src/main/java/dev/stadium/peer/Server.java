package dev.stadium.peer;

import io.rsocket.ConnectionSetupPayload;
import io.rsocket.Payload;
import io.rsocket.RSocket;
import io.rsocket.core.RSocketServer;
import io.rsocket.core.Resume;
import io.rsocket.exceptions.CustomRSocketException;
import io.rsocket.exceptions.Exceptions;
import io.rsocket.frame.ErrorFrameCodec;
import io.rsocket.lease.Lease;
import io.rsocket.transport.netty.server.CloseableChannel;
import io.rsocket.transport.netty.server.TcpServerTransport;
import io.rsocket.transport.netty.server.WebsocketServerTransport;
import io.rsocket.util.DefaultPayload;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;

/** The routes of the interoperability suites on rsocket-java. */
final class Server {
    private final Map<String, List<String>> notes = new ConcurrentHashMap<>();
    private final AtomicInteger connections = new AtomicInteger();

    static int run(Map<String, String> options) throws Exception {
        Server server = new Server();
        RSocketServer builder = RSocketServer.create(server::accept)
                .fragment(Integer.parseInt(options.getOrDefault("fragment", "0")));
        if (options.containsKey("lease")) {
            String[] lease = options.get("lease").split(",");
            Duration ttl = Duration.ofMillis(Long.parseLong(lease[0]));
            int requests = Integer.parseInt(lease[1]);
            builder.lease(spec -> spec.sender(() -> Flux.interval(Duration.ZERO, ttl)
                    .map(tick -> Lease.create(ttl, requests))));
        }
        if (options.containsKey("resume")) {
            builder.resume(new Resume().sessionDuration(Duration.ofMillis(Long.parseLong(options.get("resume")))));
        }
        CloseableChannel channel = "ws".equals(options.get("transport"))
                ? builder.bindNow(WebsocketServerTransport.create("127.0.0.1", 0))
                : builder.bindNow(TcpServerTransport.create("127.0.0.1", 0));
        System.out.println("listening 127.0.0.1:" + channel.address().getPort());
        while (System.in.read() != -1) {
            // Only the end of the input matters.
        }
        return 0;
    }

    private Mono<RSocket> accept(ConnectionSetupPayload setup, RSocket peer) {
        if (setup.getDataUtf8().equals("refuse me")) {
            return Mono.error(new IllegalArgumentException("refused as asked"));
        }
        connections.incrementAndGet();
        peer.onClose().doFinally(how -> connections.decrementAndGet()).subscribe();
        return Mono.just(new Routes(peer));
    }

    private void note(String keyAndText) {
        String[] parts = keyAndText.split(" ", 2);
        note(parts[0], parts.length > 1 ? parts[1] : "");
    }

    private void note(String key, String text) {
        notes.computeIfAbsent(key, each -> new CopyOnWriteArrayList<>()).add(text);
    }

    private final class Routes implements RSocket {
        private final RSocket peer;

        Routes(RSocket peer) {
            this.peer = peer;
        }

        @Override
        public Mono<Payload> requestResponse(Payload payload) {
            String data = payload.getDataUtf8();
            return switch (Metadata.routeOf(payload)) {
                case "echo" -> Mono.just(payload);
                case "metadata" -> Mono.just(DefaultPayload.create(Metadata.described(payload)));
                case "fail" -> Mono.error(failure(data));
                case "empty" -> Mono.empty();
                case "never" -> Mono.<Payload>never().doOnCancel(() -> note(data, "cancelled"));
                case "notes" -> Mono.just(
                        DefaultPayload.create(String.join("\n", notes.getOrDefault(data, List.of()))));
                case "connections" -> Mono.just(DefaultPayload.create(Integer.toString(connections.get())));
                case "ask-me" -> peer.requestResponse(Metadata.route("echo").with(data))
                        .map(answer -> DefaultPayload.create("you said " + answer.getDataUtf8()));
                case "push-me" -> peer.metadataPush(Metadata.note(data).alone()).then(Mono.empty());
                default -> Mono.error(new IllegalArgumentException("no such route"));
            };
        }

        @Override
        public Mono<Void> fireAndForget(Payload payload) {
            if (Metadata.routeOf(payload).equals("note")) {
                note(payload.getDataUtf8());
            }
            return Mono.empty();
        }

        @Override
        public Flux<Payload> requestStream(Payload payload) {
            String data = payload.getDataUtf8();
            String[] words = data.split(" ", 3);
            return switch (Metadata.routeOf(payload)) {
                case "range" -> Flux.range(0, Integer.parseInt(words[0]))
                        .map(number -> padded(number, Integer.parseInt(words[1])));
                case "endless" -> {
                    AtomicLong next = new AtomicLong();
                    yield Flux.<Payload>generate(sink -> sink.next(padded(next.getAndIncrement(), 0)))
                            .doOnCancel(() -> note(data, "cancelled"));
                }
                case "fail-after" -> Flux.range(0, Integer.parseInt(words[0]))
                        .map(number -> padded(number, 0))
                        .concatWith(Flux.error(failure(words[1] + " " + words[2])));
                default -> Flux.error(new IllegalArgumentException("no such route"));
            };
        }

        @Override
        public Flux<Payload> requestChannel(Publisher<Payload> payloads) {
            return Flux.from(payloads).switchOnFirst((first, all) -> {
                if (!first.hasValue()) {
                    return Flux.error(new IllegalArgumentException("a channel without a first payload"));
                }
                return switch (Metadata.routeOf(first.get())) {
                    case "channel" -> all.map(each -> DefaultPayload.create("echo " + each.getDataUtf8()));
                    case "sum" -> all.map(each -> Long.parseLong(each.getDataUtf8()))
                            .reduce(0L, Long::sum)
                            .map(sum -> DefaultPayload.create(Long.toString(sum)))
                            .flux();
                    default -> Flux.error(new IllegalArgumentException("no such route"));
                };
            });
        }

        @Override
        public Mono<Void> metadataPush(Payload payload) {
            note(Metadata.noteOf(payload));
            return Mono.empty();
        }
    }

    /** An error whose frame carries the code of "CODE TEXT", which is decimal. */
    static Throwable failure(String codeAndText) {
        String[] parts = codeAndText.split(" ", 2);
        ByteBuf frame = ErrorFrameCodec.encode(
                ByteBufAllocator.DEFAULT, 1, new CustomRSocketException(0x301, parts[1]));
        frame.setInt(frame.readerIndex() + 6, Integer.parseInt(parts[0]));
        try {
            return Exceptions.from(1, frame);
        } finally {
            frame.release();
        }
    }

    static Payload padded(long number, int size) {
        StringBuilder text = new StringBuilder().append(number);
        while (text.length() < size) {
            text.append('.');
        }
        return DefaultPayload.create(text.toString());
    }
}
