package io.stadium.conformance;

import io.stadium.rpc.server.Call;
import io.stadium.rpc.server.Input;
import io.stadium.rpc.server.Output;
import io.stadium.rpc.server.Service;
import io.stadium.rsocket.metadata.Authentication;
import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** The service: every function does what its request asks for, and what became of it is counted. */
final class Functions {
    /** What became of the requests with one text. */
    static final class Seen {
        final AtomicInteger began = new AtomicInteger();
        final AtomicInteger ended = new AtomicInteger();
        final AtomicInteger cancelled = new AtomicInteger();
    }

    volatile long slowMs;
    private final String instance;
    private final Map<String, Seen> seen = new ConcurrentHashMap<>();
    private final ScheduledExecutorService timer =
            Executors.newSingleThreadScheduledExecutor(task -> {
                Thread thread = new Thread(task, "functions");
                thread.setDaemon(true);
                return thread;
            });

    Functions(String instance) {
        this.instance = instance;
    }

    Seen seen(String text) {
        return seen.computeIfAbsent(text, absent -> new Seen());
    }

    Service service() {
        return Service.builder(ConformanceMethods.NAME, ConformanceMethods.VERSION)
                .asynchronous(ConformanceMethods.ECHO, this::unary)
                .asynchronous(ConformanceMethods.ONCE, this::unary)
                .blocking(ConformanceMethods.NOTE, (call, ask) -> {
                    end(ask, reply(call, ask).getAttempt());
                    return null;
                })
                .streaming(ConformanceMethods.COUNT, this::count)
                .channel(ConformanceMethods.TALK, this::talk)
                .build();
    }

    private CompletableFuture<Reply> unary(Call call, Ask ask) throws io.stadium.rpc.server.Refusal {
        Reply reply = reply(call, ask);
        long waitMs = ask.getSleepMs() + slowMs;
        if (waitMs == 0) {
            end(ask, reply.getAttempt());
            return CompletableFuture.completedFuture(reply);
        }
        CompletableFuture<Reply> answer = new CompletableFuture<>();
        var sleeping = timer.schedule(() -> {
            try {
                end(ask, reply.getAttempt());
                answer.complete(reply);
            } catch (io.stadium.rpc.server.Refusal | RuntimeException failure) {
                answer.completeExceptionally(failure);
            }
        }, waitMs, TimeUnit.MILLISECONDS);
        call.onCancel(() -> {
            if (sleeping.cancel(false)) {
                seen(ask.getText()).cancelled.incrementAndGet();
            }
        });
        return answer;
    }

    private void count(Call call, Ask ask, Output<Reply> answers) throws Exception {
        Reply reply = reply(call, ask);
        try {
            for (int number = 0; ask.getReplies() == 0 || number < ask.getReplies(); number++) {
                answers.send(reply.toBuilder().setNumber(number).build());
            }
        } catch (CancellationException gone) {
            seen(ask.getText()).cancelled.incrementAndGet();
            throw gone;
        }
        end(ask, reply.getAttempt());
    }

    private void talk(Call call, Input<Ask> requests, Output<Reply> answers) throws Exception {
        int number = 0;
        for (Ask ask = requests.next(); ask != null; ask = requests.next()) {
            Reply reply = reply(call, ask);
            answers.send(reply.toBuilder().setNumber(number++).build());
            end(ask, reply.getAttempt());
        }
    }

    private Reply reply(Call call, Ask ask) {
        String bearer = call.authentication()
                .filter(Authentication.Bearer.class::isInstance)
                .map(shown -> ((Authentication.Bearer) shown).token())
                .orElse("");
        String key = call.key().map(bytes -> new String(bytes, StandardCharsets.UTF_8)).orElse("");
        return Reply.newBuilder()
                .setText(ask.getText())
                .setInstance(instance)
                .setKey(key)
                .setBearer(bearer)
                .setTimeLeftMs((int) call.timeLeft().toMillis())
                .setAttempt(seen(ask.getText()).began.incrementAndGet())
                .setPaddingBytes(ask.getPadding().size())
                .setPadding(ByteString.copyFrom(new byte[ask.getPaddingBytes()]))
                .build();
    }

    private void end(Ask ask, int attempt) throws io.stadium.rpc.server.Refusal {
        seen(ask.getText()).ended.incrementAndGet();
        if (ask.getRefusals() != 0 && attempt > ask.getRefusals()) {
            return;
        }
        switch (ask.getRefusal()) {
            case BUSY -> throw io.stadium.rpc.server.Refusal.busy(Duration.ofMillis(20), "not now");
            case REJECTED -> throw io.stadium.rpc.server.Refusal.rejected("CONF-001", "never");
            case UNKNOWN -> throw io.stadium.rpc.server.Refusal.unknown("CONF-002", "half done");
            case APPLICATION -> throw io.stadium.rpc.server.Refusal.application(0x301, "its own");
            case FAILURE -> throw new IllegalStateException("as it was asked");
            default -> { }
        }
    }
}
