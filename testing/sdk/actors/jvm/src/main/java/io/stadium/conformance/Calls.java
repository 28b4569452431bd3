package io.stadium.conformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.ByteString;
import io.stadium.rpc.ApplicationError;
import io.stadium.rpc.Busy;
import io.stadium.rpc.Cancelled;
import io.stadium.rpc.Codec;
import io.stadium.rpc.ConnectionBroken;
import io.stadium.rpc.DeadlineExceeded;
import io.stadium.rpc.Method;
import io.stadium.rpc.ProtocolError;
import io.stadium.rpc.Rejected;
import io.stadium.rpc.RpcException;
import io.stadium.rpc.Unavailable;
import io.stadium.rpc.Unknown;
import io.stadium.rpc.client.CallOptions;
import io.stadium.rpc.client.RpcChannel;
import io.stadium.rpc.client.RpcClient;
import io.stadium.rpc.client.RpcStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** A client's calls, as orders ask for them. */
final class Calls {
    private static final Codec<Ask> ASK = Codec.protobuf(Ask.parser());
    private static final Codec<Reply> REPLY = Codec.protobuf(Reply.parser());

    private final RpcClient client;
    private final Map<Long, CompletableFuture<Reply>> underWay = new ConcurrentHashMap<>();

    Calls(RpcClient client) {
        this.client = client;
    }

    void close() {
        client.close();
    }

    /** Calls; the future has the answer to the order. */
    CompletableFuture<ObjectNode> call(JsonNode order) {
        long began = System.nanoTime();
        String route = "conformance/" + order.path("method").asText();
        CompletableFuture<Reply> call;
        if (order.hasNonNull("bytes_hex")) {
            byte[] bytes = HexFormat.of().parseHex(order.get("bytes_hex").asText());
            call = client.call(Method.unary(route, Codec.BYTES, REPLY), bytes, options(order));
        } else {
            call = client.call(method(order), ask(order), options(order));
        }
        long id = order.get("id").asLong();
        underWay.put(id, call);
        return call.handle((reply, failure) -> {
            underWay.remove(id);
            ObjectNode answer = failure == null ? Actor.object() : failure(failure);
            if (failure == null) {
                answer.put("outcome", "ok").set("reply", fields(reply));
            }
            return answer.put("took_ms", millisSince(began));
        });
    }

    void cancel(long of) {
        CompletableFuture<Reply> call = underWay.get(of);
        if (call != null) {
            call.cancel(true);
        }
    }

    void note(JsonNode order) {
        client.oneWay(ConformanceMethods.NOTE, ask(order), options(order));
    }

    ObjectNode stream(JsonNode order) {
        long began = System.nanoTime();
        ObjectNode answer = Actor.object().put("outcome", "ok");
        ArrayNode numbers = Actor.array();
        int read = order.path("read").asInt(Integer.MAX_VALUE);
        CallOptions options = options(order).credit(16);
        try (RpcStream<Reply> replies = client.stream(ConformanceMethods.COUNT, ask(order), options)) {
            while (replies.hasNext()) {
                numbers.add(replies.next().getNumber());
                if (numbers.size() == read) {
                    answer.put("outcome", "left");
                    break;
                }
            }
        } catch (RpcException failure) {
            answer = failure(failure);
        }
        answer.set("numbers", numbers);
        return answer.put("took_ms", millisSince(began));
    }

    ObjectNode channel(JsonNode order) throws InterruptedException {
        List<Ask> asks = new ArrayList<>();
        order.get("texts").forEach(text -> asks.add(ask(order).toBuilder().setText(text.asText()).build()));
        ObjectNode answer = Actor.object().put("outcome", "ok");
        ArrayNode texts = Actor.array();
        try (RpcChannel<Ask, Reply> channel =
                client.channel(ConformanceMethods.TALK, asks.get(0), options(order))) {
            Thread sending = new Thread(() -> {
                try {
                    asks.subList(1, asks.size()).forEach(channel::send);
                    channel.complete();
                } catch (RpcException ended) {
                    // A service that refused takes no more.
                }
            });
            sending.start();
            try {
                channel.answers().forEachRemaining(reply -> texts.add(reply.getText()));
            } catch (RpcException failure) {
                answer = failure(failure);
            }
            sending.join();
        }
        answer.set("texts", texts);
        return answer;
    }

    ObjectNode load(JsonNode order) throws InterruptedException {
        Method<Ask, Reply> method = order.path("method").asText("Echo").equals("Once")
                ? ConformanceMethods.ONCE : ConformanceMethods.ECHO;
        Ask ask = ask(order);
        CallOptions options = options(order);
        int rate = order.get("rate").asInt();
        int calls = order.get("for_ms").asInt() * rate / 1000;
        Map<String, Integer> outcomes = new ConcurrentHashMap<>();
        Map<String, Integer> instances = new ConcurrentHashMap<>();
        long[] latencies = new long[calls];
        CompletableFuture<?>[] ended = new CompletableFuture<?>[calls];
        long begin = System.nanoTime();
        for (int nth = 0; nth < calls; nth++) {
            long due = begin + nth * 1_000_000_000L / rate;
            TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
            int place = nth;
            ended[nth] = client.call(method, ask, options).handle((reply, failure) -> {
                latencies[place] = millisSince(due);
                if (failure == null) {
                    instances.merge(reply.getInstance(), 1, Integer::sum);
                }
                String outcome = failure == null ? "ok" : failure(failure).get("outcome").asText();
                return outcomes.merge(outcome, 1, Integer::sum);
            });
        }
        CompletableFuture.allOf(ended).join();
        Arrays.sort(latencies);
        ObjectNode answer = Actor.object().put("calls", calls);
        answer.set("outcomes", Actor.JSON.valueToTree(outcomes));
        answer.set("instances", Actor.JSON.valueToTree(instances));
        return answer.put("p50_ms", latencies[calls / 2])
                .put("p99_ms", latencies[calls * 99 / 100])
                .put("max_ms", latencies[calls - 1]);
    }

    ObjectNode explain(JsonNode order) {
        byte[] key = order.hasNonNull("key")
                ? order.get("key").asText().getBytes(StandardCharsets.UTF_8) : null;
        CompletableFuture<?> explained = key == null
                ? client.explain(ConformanceMethods.NAME)
                : client.explain(ConformanceMethods.NAME, key);
        return Actor.object().put("text", explained.join().toString());
    }

    private static Method<Ask, Reply> method(JsonNode order) {
        return switch (order.path("method").asText()) {
            case "Echo" -> ConformanceMethods.ECHO;
            case "Once" -> ConformanceMethods.ONCE;
            default -> Method.unary("conformance/" + order.get("method").asText(), ASK, REPLY);
        };
    }

    private static Ask ask(JsonNode order) {
        JsonNode fields = order.path("ask");
        return Ask.newBuilder()
                .setText(fields.path("text").asText())
                .setSleepMs(fields.path("sleep_ms").asInt())
                .setRefusal(Refusal.valueOf(fields.path("refusal").asText("NONE")))
                .setRefusals(fields.path("refusals").asInt())
                .setReplies(fields.path("replies").asInt())
                .setPaddingBytes(fields.path("padding_bytes").asInt())
                .setPadding(ByteString.copyFrom(new byte[fields.path("send_padding_bytes").asInt()]))
                .build();
    }

    private static CallOptions options(JsonNode order) {
        CallOptions options = CallOptions.DEFAULT;
        if (order.hasNonNull("deadline_ms")) {
            options = options.deadline(Duration.ofMillis(order.get("deadline_ms").asLong()));
        }
        if (order.hasNonNull("key")) {
            options = options.key(order.get("key").asText().getBytes(StandardCharsets.UTF_8));
        }
        return options;
    }

    private static ObjectNode fields(Reply reply) {
        return Actor.object()
                .put("text", reply.getText())
                .put("instance", reply.getInstance())
                .put("key", reply.getKey())
                .put("bearer", reply.getBearer())
                .put("time_left_ms", reply.getTimeLeftMs())
                .put("attempt", reply.getAttempt())
                .put("padding_bytes", reply.getPaddingBytes())
                .put("number", reply.getNumber())
                .put("received_padding_bytes", reply.getPadding().size());
    }

    private static ObjectNode failure(Throwable thrown) {
        Throwable why = thrown instanceof CompletionException ? thrown.getCause() : thrown;
        ObjectNode answer = Actor.object().put("text", why.getMessage());
        if (why instanceof Busy busy) {
            answer.put("outcome", "busy").put("retry_after_ms", busy.retryAfter().toMillis());
            answer.put("text", busy.reason());
        } else if (why instanceof Rejected rejected) {
            answer.put("outcome", "rejected").put("code", rejected.code()).put("text", rejected.reason());
        } else if (why instanceof Unknown unknown) {
            answer.put("outcome", "unknown").put("code", unknown.code()).put("text", unknown.reason());
        } else if (why instanceof ApplicationError error) {
            answer.put("outcome", "application").put("number", error.number()).put("text", error.text());
        } else if (why instanceof DeadlineExceeded) {
            answer.put("outcome", "deadline");
        } else if (why instanceof Unavailable) {
            answer.put("outcome", "unavailable");
        } else if (why instanceof ConnectionBroken) {
            answer.put("outcome", "broken");
        } else if (why instanceof Cancelled || why instanceof CancellationException) {
            answer.put("outcome", "cancelled");
        } else if (why instanceof ProtocolError) {
            answer.put("outcome", "protocol");
        } else {
            throw new IllegalStateException(thrown);
        }
        return answer;
    }

    private static long millisSince(long nanos) {
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos);
    }
}
