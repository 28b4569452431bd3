package dev.stadium.peer;

import io.rsocket.Payload;
import io.rsocket.RSocket;
import io.rsocket.RSocketErrorException;
import io.rsocket.SocketAcceptor;
import io.rsocket.core.RSocketConnector;
import io.rsocket.core.Resume;
import io.rsocket.lease.MissingLeaseException;
import io.rsocket.transport.ClientTransport;
import io.rsocket.transport.netty.client.TcpClientTransport;
import io.rsocket.transport.netty.client.WebsocketClientTransport;
import io.rsocket.util.DefaultPayload;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.reactivestreams.Subscription;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;
import reactor.core.publisher.Mono;
import reactor.util.retry.Retry;

/** The cases of the interoperability suites on rsocket-java: each opens a connection of its own. */
final class Client {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final byte[] LARGE = large();

    private final String address;
    private final Map<String, String> options;
    private final BlockingQueue<String> pushed = new LinkedBlockingQueue<>();

    private Client(String address, Map<String, String> options) {
        this.address = address;
        this.options = options;
    }

    static int run(String address, String[] cases, Map<String, String> options) {
        int failed = 0;
        for (String name : cases) {
            try {
                new Client(address, options).runCase(name);
                System.out.println("ok " + name);
            } catch (Throwable why) {
                failed++;
                System.out.println("FAILED " + name + ": " + why);
                why.printStackTrace();
            }
        }
        return failed == 0 ? 0 : 1;
    }

    private void runCase(String name) throws Exception {
        switch (name) {
            case "echo" -> equal(text(ask(connect(), "echo", "hello")), "hello");
            case "echo-large" -> {
                Payload answer = connect().requestResponse(Metadata.route("echo").with(LARGE)).block(PATIENCE);
                byte[] got = new byte[answer.data().readableBytes()];
                answer.data().getBytes(answer.data().readerIndex(), got);
                check(Arrays.equals(got, LARGE), "100 KB came back changed: " + got.length + " bytes");
            }
            case "metadata" -> describe();
            case "errors" -> errors();
            case "empty" -> check(ask(connect(), "empty", "") == null, "a payload where none was promised");
            case "note" -> {
                RSocket socket = connect();
                socket.fireAndForget(Metadata.route("note").with("java-note first")).block(PATIENCE);
                untilNotes(socket, "java-note", "first");
            }
            case "push" -> {
                RSocket socket = connect();
                socket.metadataPush(Metadata.note("java-push pushed").alone()).block(PATIENCE);
                untilNotes(socket, "java-push", "pushed");
            }
            case "push-back" -> {
                RSocket socket = connect();
                ask(socket, "push-me", "catch");
                equal(pushed.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS), "catch");
            }
            case "ask-me" -> equal(text(ask(connect(), "ask-me", "hello")), "you said hello");
            case "range" -> range(connect(), 10, 0);
            case "range-large" -> range(connect(), 5, 100_000);
            case "credit-one" -> creditOne();
            case "cancel-stream" -> cancelStream();
            case "cancel-response" -> cancelResponse();
            case "fail-after" -> failAfter();
            case "channel" -> channel();
            case "channel-large" -> channelLarge();
            case "sum" -> sum();
            case "refused" -> refused();
            case "quiet" -> quiet();
            case "frozen" -> frozen();
            case "lease" -> lease();
            case "resume" -> resume();
            default -> throw new IllegalArgumentException("no such case");
        }
    }

    private void describe() {
        RSocket socket = connect();
        Metadata simple = Metadata.route("metadata").simple("user", "pass:word").named("message/x.custom", "text");
        String expected = "route interop/metadata\nsimple user:pass:word\nmessage/x.custom text";
        equal(text(socket.requestResponse(simple.with("")).block(PATIENCE)), expected);
        Metadata bearer = Metadata.route("metadata").bearer("token");
        equal(
                text(socket.requestResponse(bearer.with("")).block(PATIENCE)),
                "route interop/metadata\nbearer token");
    }

    private void errors() {
        RSocket socket = connect();
        for (int code : new int[] {0x201, 0x202, 0x203, 0x204}) {
            RSocketErrorException error = error(() -> ask(socket, "fail", code + " GEO-001: not there"));
            equal(error.errorCode() + " " + error.getMessage(), code + " GEO-001: not there");
        }
        equal(text(ask(socket, "echo", "still here")), "still here");
    }

    private void range(RSocket socket, int count, int size) {
        List<String> got = socket.requestStream(Metadata.route("range").with(count + " " + size))
                .map(Payload::getDataUtf8)
                .collectList()
                .block(PATIENCE);
        equal(got.size(), count);
        for (int number = 0; number < count; number++) {
            equal(got.get(number), Server.padded(number, size).getDataUtf8());
        }
    }

    private void creditOne() throws Exception {
        RSocket socket = connect();
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        CompletableFuture<Void> done = new CompletableFuture<>();
        CompletableFuture<Subscription> credit = new CompletableFuture<>();
        socket.requestStream(Metadata.route("range").with("5 0")).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                credit.complete(subscription);
            }

            @Override
            protected void hookOnNext(Payload payload) {
                got.add(payload.getDataUtf8());
            }

            @Override
            protected void hookOnComplete() {
                done.complete(null);
            }
        });
        for (int number = 0; number < 5; number++) {
            credit.get().request(1);
            equal(got.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS), Integer.toString(number));
            // What the server still sent on that stream has come before the answer to a later request.
            equal(text(ask(socket, "echo", "fence")), "fence");
            check(got.isEmpty(), "more than one payload for a credit of one");
        }
        if (!done.isDone()) {
            credit.get().request(1);
        }
        done.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    private void cancelStream() {
        RSocket socket = connect();
        String key = "java-endless-" + System.nanoTime();
        List<String> got = socket.requestStream(Metadata.route("endless").with(key))
                .map(Payload::getDataUtf8)
                .take(3, true)
                .collectList()
                .block(PATIENCE);
        equal(got, List.of("0", "1", "2"));
        Flux<Payload> another = socket.requestStream(Metadata.route("endless").with(key + "-b"));
        equal(another.limitRate(8).take(20).count().block(PATIENCE), 20L);
        untilNotes(socket, key + "-b", "cancelled");
        untilNotes(socket, key, "cancelled");
    }

    private void cancelResponse() throws Exception {
        RSocket socket = connect();
        String key = "java-never-" + System.nanoTime();
        var waiting = socket.requestResponse(Metadata.route("never").with(key)).subscribe();
        equal(text(ask(socket, "echo", "fence")), "fence");
        waiting.dispose();
        untilNotes(socket, key, "cancelled");
    }

    private void failAfter() {
        RSocket socket = connect();
        List<String> got = new ArrayList<>();
        RSocketErrorException error = error(() -> socket
                .requestStream(Metadata.route("fail-after").with("3 513 GEO-002: half way"))
                .map(Payload::getDataUtf8)
                .doOnNext(got::add)
                .blockLast(PATIENCE));
        equal(got, List.of("0", "1", "2"));
        equal(error.errorCode() + " " + error.getMessage(), "513 GEO-002: half way");
    }

    private void channel() {
        RSocket socket = connect();
        Flux<Payload> words = Flux.range(0, 50).map(number -> Metadata.route("channel").with("word " + number));
        List<String> got = socket.requestChannel(words)
                .map(Payload::getDataUtf8)
                .limitRate(4)
                .collectList()
                .block(PATIENCE);
        equal(got.size(), 50);
        for (int number = 0; number < 50; number++) {
            equal(got.get(number), "echo word " + number);
        }
    }

    private void channelLarge() {
        String large = "x".repeat(100_000);
        Flux<Payload> words = Flux.range(0, 5).map(number -> Metadata.route("channel").with(number + large));
        List<String> got = connect().requestChannel(words).map(Payload::getDataUtf8).collectList().block(PATIENCE);
        equal(got.size(), 5);
        for (int number = 0; number < 5; number++) {
            check(got.get(number).equals("echo " + number + large), "payload " + number + " came back changed");
        }
    }

    private void sum() {
        Flux<Payload> numbers = Flux.range(1, 100).map(each -> Metadata.route("sum").with(Integer.toString(each)));
        equal(text(connect().requestChannel(numbers).blockLast(PATIENCE)), "5050");
    }

    private void refused() {
        RSocketConnector connector = connector().setupPayload(DefaultPayload.create("refuse me"));
        RSocket socket = connector.connect(transport()).block(PATIENCE);
        RSocketErrorException error = error(() -> socket.onClose().block(PATIENCE));
        equal(error.errorCode(), 0x003);
    }

    /** Nobody speaks for three lifetimes: keep-alives hold the connection. */
    private void quiet() throws Exception {
        RSocketConnector connector = connector().keepAlive(Duration.ofMillis(100), Duration.ofMillis(500));
        RSocket socket = connector.connect(transport()).block(PATIENCE);
        equal(text(ask(socket, "echo", "before")), "before");
        CompletableFuture<Void> closed = socket.onClose().toFuture();
        try {
            closed.get(1500, TimeUnit.MILLISECONDS);
            throw new AssertionError("the connection was closed although keep-alives were answered");
        } catch (java.util.concurrent.TimeoutException stillThere) {
            equal(text(ask(socket, "echo", "after")), "after");
        }
    }

    /** The server's process is stopped: the client notices within a lifetime. */
    private void frozen() throws Exception {
        RSocketConnector connector = connector().keepAlive(Duration.ofMillis(100), Duration.ofSeconds(3));
        RSocket socket = connector.connect(transport()).block(PATIENCE);
        equal(text(ask(socket, "echo", "before")), "before");
        signal("STOP");
        try {
            RSocketErrorException error = error(() -> socket.onClose().block(PATIENCE));
            equal(error.errorCode(), 0x101);
        } finally {
            signal("CONT");
        }
    }

    private void signal(String name) throws Exception {
        new ProcessBuilder("kill", "-" + name, options.get("pid")).inheritIO().start().waitFor();
    }

    /** The server grants three requests at a time; the fourth waits for the next grant or is refused locally. */
    private void lease() throws Exception {
        RSocketConnector connector = connector().lease(spec -> spec.maxPendingRequests(0));
        RSocket socket = connector.connect(transport()).block(PATIENCE);
        int answered = 0;
        int refused = 0;
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while ((answered < 7 || refused == 0) && System.nanoTime() < deadline) {
            try {
                equal(text(ask(socket, "echo", "leased")), "leased");
                answered++;
            } catch (MissingLeaseException none) {
                refused++;
            }
        }
        check(answered >= 7, "only " + answered + " requests were answered under leases");
        check(refused > 0, "no request was refused although leases are of three");
    }

    /** The server cuts the connection in the middle of a stream; the session goes on over the next one. */
    private void resume() throws Exception {
        Resume resume = new Resume()
                .sessionDuration(Duration.ofSeconds(20))
                .cleanupStoreOnKeepAlive()
                .retry(Retry.fixedDelay(50, Duration.ofMillis(50)));
        RSocketConnector connector =
                connector().resume(resume).keepAlive(Duration.ofMillis(100), Duration.ofSeconds(20));
        RSocket socket = connector.connect(transport()).block(PATIENCE);
        BlockingQueue<String> got = new LinkedBlockingQueue<>();
        CompletableFuture<Subscription> credit = new CompletableFuture<>();
        CompletableFuture<String> ended = new CompletableFuture<>();
        socket.requestStream(Metadata.route("range").with("100 50")).subscribe(new BaseSubscriber<>() {
            @Override
            protected void hookOnSubscribe(Subscription subscription) {
                credit.complete(subscription);
                subscription.request(10);
            }

            @Override
            protected void hookOnNext(Payload payload) {
                got.add(payload.getDataUtf8());
            }

            @Override
            protected void hookOnComplete() {
                ended.complete("complete");
            }

            @Override
            protected void hookOnError(Throwable error) {
                ended.complete(error.toString());
            }
        });
        for (int number = 0; number < 100; number++) {
            if (number == 5 || number == 50) {
                socket.fireAndForget(Metadata.route("cut").with("")).block(PATIENCE);
            }
            String next = got.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            equal(next, Server.padded(number, 50).getDataUtf8());
            credit.get().request(1);
        }
        equal(ended.get(PATIENCE.toSeconds(), TimeUnit.SECONDS), "complete");
        equal(text(ask(socket, "resumed", "")), "2");
    }

    private RSocket connect() {
        return connector().connect(transport()).block(PATIENCE);
    }

    private RSocketConnector connector() {
        return RSocketConnector.create()
                .dataMimeType("application/vnd.google.protobuf")
                .metadataMimeType("message/x.rsocket.composite-metadata.v0")
                .fragment(Integer.parseInt(options.getOrDefault("fragment", "0")))
                .acceptor(SocketAcceptor.with(new RSocket() {
                    @Override
                    public Mono<Payload> requestResponse(Payload payload) {
                        return Mono.just(payload);
                    }

                    @Override
                    public Mono<Void> metadataPush(Payload payload) {
                        pushed.add(Metadata.noteOf(payload));
                        return Mono.empty();
                    }
                }));
    }

    private ClientTransport transport() {
        String[] parts = address.split(":");
        int port = Integer.parseInt(parts[1]);
        if ("ws".equals(options.get("transport"))) {
            return WebsocketClientTransport.create(URI.create("ws://" + address + "/"));
        }
        return TcpClientTransport.create(new InetSocketAddress(parts[0], port));
    }

    private static Payload ask(RSocket socket, String route, String data) {
        return socket.requestResponse(Metadata.route(route).with(data)).block(PATIENCE);
    }

    private static void untilNotes(RSocket socket, String key, String expected) {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        String last = "";
        while (System.nanoTime() < deadline) {
            last = text(ask(socket, "notes", key));
            if (last.equals(expected)) {
                return;
            }
        }
        throw new AssertionError("waited for the note " + expected + ", there is: " + last);
    }

    private static RSocketErrorException error(Supplier<Object> work) {
        Object got;
        try {
            got = work.get();
        } catch (RSocketErrorException error) {
            return error;
        }
        throw new AssertionError("an error was promised, there is: " + got);
    }

    private static String text(Payload payload) {
        return payload == null ? null : payload.getDataUtf8();
    }

    private static void equal(Object got, Object expected) {
        check(expected.equals(got), "expected " + expected + ", got " + got);
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    private static byte[] large() {
        byte[] bytes = new byte[100_000];
        for (int at = 0; at < bytes.length; at++) {
            bytes[at] = (byte) (at * 31 + at / 256);
        }
        return bytes;
    }
}
