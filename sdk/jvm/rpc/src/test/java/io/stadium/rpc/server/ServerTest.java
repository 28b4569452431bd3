package io.stadium.rpc.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.StringValue;
import io.stadium.rpc.Codec;
import io.stadium.rpc.Method;
import io.stadium.rsocket.connection.Completion;
import io.stadium.rsocket.frame.Interaction;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.SubmissionPublisher;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Functions of each kind, the answers on the wire, deadlines, cancellation, interceptors. */
@Timeout(300)
class ServerTest {
    static Method<byte[], byte[]> unary(String name) {
        return Method.unary("test/" + name, Codec.BYTES, Codec.BYTES);
    }

    static Method<byte[], byte[]> stream(String name) {
        return Method.stream("test/" + name, Codec.BYTES, Codec.BYTES);
    }

    static Service.Builder service() {
        return Service.builder("test", "1");
    }

    static RpcServerBuilder on(Service.Builder service) {
        return RpcServer.builder().listen("127.0.0.1", 0).busyPollUs(0)
                // A busy machine of tests is no overload.
                .inlineWaitMax(Duration.ofSeconds(30)).deadline(Duration.ofSeconds(60))
                .service(service.build());
    }

    static String text(byte[] message) {
        return new String(message, StandardCharsets.UTF_8);
    }

    @Test
    void eachKindOfUnaryFunctionAnswers() throws Exception {
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        try (RpcServer server = on(service()
                .inline(unary("Inline"), (call, request) -> request)
                .blocking(unary("Blocking"), (call, request) ->
                        Caller.bytes(Thread.currentThread().getName().substring(0, 7)))
                .asynchronous(unary("Later"), (call, request) ->
                        CompletableFuture.supplyAsync(() -> request))
                .inline(Method.oneWay("test/Tell", Codec.BYTES), (call, request) -> {
                    told.add(text(request));
                    return null;
                })).start();
                Caller caller = new Caller(server)) {
            assertEquals("a", caller.answer("test/Inline", "a"));
            assertEquals("stadium", caller.answer("test/Blocking", ""));
            assertEquals("b", caller.answer("test/Later", "b"));
            String large = "x".repeat(1_000_000);
            assertEquals(large, caller.answer("test/Inline", large));
            caller.rsocket.fireAndForget(Caller.metadata("test/Tell"), Caller.bytes("c")).get();
            assertEquals("c", told.poll(Caller.SOON_S, TimeUnit.SECONDS));
            // A unary method may be sent as fire-and-forget.
            caller.rsocket.fireAndForget(Caller.metadata("test/Later"), Caller.bytes("d")).get();
            assertEquals("e", caller.answer("test/Inline", "e"));
        }
    }

    @Test
    void streamsSendWithinTheCallersCredit() throws Exception {
        try (RpcServer server = on(service()
                .streaming(stream("Count"), (call, request, out) -> {
                    for (int nth = 0; nth < Integer.parseInt(text(request)); nth++) {
                        out.send(Caller.bytes("" + nth));
                    }
                })
                .publishing(stream("Publish"), (call, request) -> {
                    SubmissionPublisher<byte[]> publisher = new SubmissionPublisher<>();
                    return subscriber -> {
                        // What is submitted before nobody gets.
                        publisher.subscribe(subscriber);
                        CompletableFuture.runAsync(() -> {
                            for (int nth = 0; nth < Integer.parseInt(text(request)); nth++) {
                                publisher.submit(Caller.bytes("" + nth));
                            }
                            publisher.close();
                        });
                    };
                })
                .streaming(stream("Fail"), (call, request, out) -> {
                    out.send(Caller.bytes("first"));
                    throw Refusal.rejected("TEST-001", "no second");
                })).start();
                Caller caller = new Caller(server)) {
            for (String route : List.of("test/Count", "test/Publish")) {
                Caller.Stream stream = caller.stream(route, "500", 2);
                assertEquals("0", stream.next());
                assertEquals("1", stream.next());
                assertEquals("x", Caller.text(echo(caller)));
                assertTrue(stream.events.isEmpty(), route + " was sent without credit");
                stream.want(Integer.MAX_VALUE);
                for (int nth = 2; nth < 500; nth++) {
                    assertEquals("" + nth, stream.next());
                }
                assertEquals("END", stream.next());
                assertEquals("END", caller.stream(route, "0", 1).next());
            }
            Caller.Stream failing = caller.stream("test/Fail", "", 10);
            assertEquals("first", failing.next());
            assertEquals("ERROR TEST-001: no second", failing.next());
        }
    }

    /** A round trip on the same connection: what was sent before has arrived. */
    private static CompletableFuture<byte[]> echo(Caller caller) {
        return caller.rsocket.requestResponse(Caller.metadata("test/health"), new byte[0])
                .thenApply(health -> Caller.bytes("x"));
    }

    @Test
    void channelsTakeAndSend() throws Exception {
        try (RpcServer server = on(service().channel(
                Method.channel("test/Talk", Codec.BYTES, Codec.BYTES), (call, in, out) -> {
                    for (byte[] one = in.next(); one != null; one = in.next()) {
                        out.send(Caller.bytes(text(one).toUpperCase()));
                    }
                    out.send(Caller.bytes("bye"));
                })).start();
                Caller caller = new Caller(server)) {
            Caller.Stream channel = caller.open(Interaction.REQUEST_CHANNEL,
                    Caller.metadata("test/Talk"), "a", 1_000, Completion.OPEN);
            assertEquals("CREDIT 64", channel.next());
            assertEquals("A", channel.next());
            for (int nth = 0; nth < 100; nth++) {
                channel.send("b" + nth, nth == 99 ? Completion.COMPLETE : Completion.OPEN);
                String event = channel.next();
                assertEquals("B" + nth, event.startsWith("CREDIT") ? channel.next() : event);
            }
            assertEquals("bye", channel.next());
            assertEquals("END", channel.next());
        }
    }

    @Test
    void theAnswersOnTheWireAreThoseOfThePage() throws Exception {
        Method<byte[], byte[]> refuse = unary("Refuse");
        try (RpcServer server = on(service()
                .inline(refuse, (call, request) -> {
                    switch (text(request)) {
                        case "busy" -> throw Refusal.busy(Duration.ofMillis(120), "queue is full");
                        case "rejected" -> throw Refusal.rejected("GEO-001", "latitude 95");
                        case "unknown" -> throw Refusal.unknown("GEO-007", "disk: gone");
                        case "own" -> throw Refusal.application(0x301, "boom: it broke");
                        case "null" -> {
                            return null;
                        }
                        case "large" -> {
                            return new byte[200_000];
                        }
                        default -> throw new IllegalStateException("secret");
                    }
                })
                .asynchronous(unary("Later"), (call, request) ->
                        CompletableFuture.failedFuture(text(request).isEmpty()
                                ? new IllegalStateException("secret")
                                : Refusal.rejected("GEO-002", text(request))))
                .blocking(unary("Blocking"), (call, request) -> {
                    throw new AssertionError("secret");
                })
                .streaming(stream("Near"), (call, request, out) -> {})
                .inline(Method.unary("test/Text", Codec.protobuf(StringValue.parser()),
                        Codec.protobuf(StringValue.parser())), (call, request) -> request))
                .payloadBytesMax(100_000)
                .start();
                Caller caller = new Caller(server)) {
            String failed =
                    "APPLICATION_ERROR: UNKNOWN RPC-007: the service failed on this request";
            assertEquals("REJECTED: BUSY retry_after_ms=120: queue is full",
                    caller.error("test/Refuse", "busy"));
            assertEquals("APPLICATION_ERROR: GEO-001: latitude 95",
                    caller.error("test/Refuse", "rejected"));
            assertEquals("APPLICATION_ERROR: UNKNOWN GEO-007: disk: gone",
                    caller.error("test/Refuse", "unknown"));
            assertEquals("0x00000301: boom: it broke", caller.error("test/Refuse", "own"));
            assertEquals(failed, caller.error("test/Refuse", "bug"));
            assertEquals(failed, caller.error("test/Refuse", "null"));
            assertEquals(failed, caller.error("test/Later", ""));
            assertEquals(failed, caller.error("test/Blocking", ""));
            assertEquals("APPLICATION_ERROR: GEO-002: why", caller.error("test/Later", "why"));
            assertEquals("APPLICATION_ERROR: UNKNOWN RPC-006: the answer is larger than this"
                    + " connection carries", caller.error("test/Refuse", "large"));
            assertEquals("INVALID: RPC-002: there is no route `test/Lost` here",
                    caller.error("test/Lost", ""));
            assertEquals("INVALID: RPC-001: the request's metadata names no route",
                    Caller.error(caller.rsocket.requestResponse(null, new byte[0])));
            assertEquals("INVALID: RPC-003: `test/Near` is a request with a stream of answers"
                    + " (REQUEST_STREAM), and is not called so", caller.error("test/Near", ""));
            assertTrue(caller.error("test/Text", "\377").startsWith(
                    "INVALID: RPC-004: the request does not decode: "));
            assertEquals("CANCELED: RPC-DEADLINE: the deadline passed before the request had its"
                    + " turn", Caller.error(caller.call("test/Refuse", "", 0)));
        }
    }

    @Test
    void aDeadlineThatPassesEndsTheCallForItsCallerAndItsFunction() throws Exception {
        CompletableFuture<byte[]> never = new CompletableFuture<>();
        CountDownLatch cancelled = new CountDownLatch(2);
        try (RpcServer server = on(service()
                .asynchronous(unary("Never"), (call, request) -> {
                    call.onCancel(cancelled::countDown);
                    return never;
                })
                .blocking(unary("Compute"), (call, request) -> {
                    while (!call.isCancelled()) {
                        Thread.sleep(1);
                    }
                    cancelled.countDown();
                    return request;
                })).start();
                Caller caller = new Caller(server)) {
            String expired = "CANCELED: RPC-DEADLINE: the deadline passed before the service had"
                    + " an answer";
            CompletableFuture<byte[]> one = caller.call("test/Never", "", 50);
            assertEquals(expired, Caller.error(caller.call("test/Compute", "", 50)));
            assertEquals(expired, Caller.error(one));
            assertTrue(cancelled.await(Caller.SOON_S, TimeUnit.SECONDS));
            Caller.until("the stage is cancelled", never::isCancelled);
        }
    }

    @Test
    void cancellationReachesTheFunction() throws Exception {
        BlockingQueue<String> heard = new LinkedBlockingQueue<>();
        Service.Builder service = service()
                .asynchronous(unary("Never"), (call, request) -> {
                    heard.add("began");
                    call.onCancel(() -> heard.add("cancelled"));
                    return new CompletableFuture<>();
                })
                .streaming(stream("Endless"), (call, request, out) -> {
                    heard.add("began");
                    try {
                        while (true) {
                            out.send(request);
                        }
                    } finally {
                        heard.add("cancelled");
                    }
                })
                .publishing(stream("Publish"), (call, request) -> subscriber -> {
                    heard.add("began");
                    subscriber.onSubscribe(new java.util.concurrent.Flow.Subscription() {
                        @Override
                        public void request(long n) {}

                        @Override
                        public void cancel() {
                            heard.add("cancelled");
                        }
                    });
                });
        try (RpcServer server = on(service).start(); Caller caller = new Caller(server)) {
            for (String route : List.of("test/Endless", "test/Publish")) {
                Caller.Stream stream = caller.stream(route, "x", 1);
                assertEquals("began", heard.poll(Caller.SOON_S, TimeUnit.SECONDS));
                stream.cancel();
                assertEquals("cancelled", heard.poll(Caller.SOON_S, TimeUnit.SECONDS));
            }
            Caller.Stream unary = caller.open(Interaction.REQUEST_RESPONSE,
                    Caller.metadata("test/Never"), "", 1, Completion.COMPLETE);
            assertEquals("began", heard.poll(Caller.SOON_S, TimeUnit.SECONDS));
            unary.cancel();
            assertEquals("cancelled", heard.poll(Caller.SOON_S, TimeUnit.SECONDS));
            // A connection that vanishes cancels its calls too.
            try (Caller vanishing = new Caller(server)) {
                vanishing.call("test/Never", "");
                vanishing.stream("test/Endless", "", 1);
                assertEquals("began", heard.poll(Caller.SOON_S, TimeUnit.SECONDS));
                assertEquals("began", heard.poll(Caller.SOON_S, TimeUnit.SECONDS));
                vanishing.rsocket.channel().close();
                assertEquals("cancelled", heard.poll(Caller.SOON_S, TimeUnit.SECONDS));
                assertEquals("cancelled", heard.poll(Caller.SOON_S, TimeUnit.SECONDS));
            }
            Caller.until("calls have ended",
                    () -> server.sum(Counts.Figure.INFLIGHT) == 0);
        }
    }

    @Test
    void whatIsTooMuchWaitsOrIsBusy() throws Exception {
        List<CompletableFuture<byte[]>> begun = new ArrayList<>();
        BlockingQueue<CompletableFuture<byte[]>> pending = new LinkedBlockingQueue<>();
        try (RpcServer server = on(service().asynchronous(unary("Later"), (call, request) -> {
            CompletableFuture<byte[]> answer = new CompletableFuture<>();
            pending.add(answer);
            return answer;
        })).concurrency(2, 2, 2).queueMax(3).start(); Caller caller = new Caller(server)) {
            for (int nth = 0; nth < 5; nth++) {
                begun.add(caller.call("test/Later", "" + nth));
            }
            // Two are under way, three wait, and the sixth has no place.
            assertEquals("REJECTED: BUSY retry_after_ms=5: as many calls wait as may",
                    caller.error("test/Later", "5"));
            assertEquals(2, pending.size());
            CompletableFuture<Void> all = CompletableFuture.allOf(
                    begun.stream().map(one -> one.handle((answer, failure) -> null))
                            .toArray(CompletableFuture<?>[]::new));
            while (!all.isDone()) {
                CompletableFuture<byte[]> next = pending.poll(10, TimeUnit.MILLISECONDS);
                if (next != null) {
                    next.complete(Caller.bytes("done"));
                }
            }
            // A call that waits for more than 100 ms on a slow machine is Busy too.
            int done = 0;
            for (CompletableFuture<byte[]> one : begun) {
                if (one.isCompletedExceptionally()) {
                    String text = Caller.error(one);
                    assertTrue(text.endsWith(": the call has waited for too long"), text);
                } else {
                    done++;
                }
            }
            assertTrue(done >= 2, done + " calls were done");
        }
    }

    @Test
    void aCallThatWaitedTooLongIsNotBegun() throws Exception {
        CompletableFuture<byte[]> first = new CompletableFuture<>();
        List<String> begun = new ArrayList<>();
        try (RpcServer server = on(service().asynchronous(unary("Later"), (call, request) -> {
            begun.add(text(request));
            return first;
        })).concurrency(1, 1, 1).start(); Caller caller = new Caller(server)) {
            CompletableFuture<byte[]> one = caller.call("test/Later", "one");
            String expired = Caller.error(caller.call("test/Later", "two", 20));
            assertTrue(expired.startsWith("CANCELED: RPC-DEADLINE: "), expired);
            first.complete(Caller.bytes("done"));
            assertEquals("done", Caller.text(one));
            assertEquals("done", caller.answer("test/Later", "three"));
            assertEquals(List.of("one", "three"), begun);
        }
    }

    @Test
    void interceptorsRunAroundEachFunction() throws Exception {
        List<String> heard = new ArrayList<>();
        Interceptor outer = new Interceptor() {
            @Override
            public void before(Call call) throws Refusal {
                if (call.authentication().isEmpty() && call.route().equals("test/Later")) {
                    throw Refusal.rejected("TEST-010", "a token is needed");
                }
            }

            @Override
            public void after(Finished finished) {
                assertFalse(finished.duration().isNegative());
                heard.add("outer " + finished.route() + " " + finished.outcome());
            }
        };
        Interceptor inner = new Interceptor() {
            @Override
            public void after(Finished finished) {
                heard.add("inner");
            }
        };
        Call[] kept = new Call[1];
        try (RpcServer server = on(service()
                .inline(unary("Inline"), (call, request) -> {
                    kept[0] = call;
                    return request;
                })
                .asynchronous(unary("Later"), (call, request) ->
                        CompletableFuture.completedFuture(request))
                .intercept(outer).intercept(inner)).start();
                Caller caller = new Caller(server)) {
            assertEquals("a", caller.answer("test/Inline", "a"));
            assertEquals("APPLICATION_ERROR: TEST-010: a token is needed",
                    caller.error("test/Later", ""));
            assertEquals(List.of("inner", "outer test/Inline OK", "inner",
                    "outer test/Later REJECTED"), heard);
            assertThrows(IllegalStateException.class, () -> kept[0].route());
        }
    }
}
