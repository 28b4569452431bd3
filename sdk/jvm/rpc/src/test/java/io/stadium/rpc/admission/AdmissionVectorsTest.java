package io.stadium.rpc.admission;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.stadium.rpc.Scripts;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The scripts of limit, queue, leases and load lead to the same choices here. */
class AdmissionVectorsTest {
    /** Plays a step and returns its answer, {@code null} where it has none. */
    private interface Player {
        JsonNode play(JsonNode step);
    }

    private static void play(Scripts.Case script, Player player) {
        for (JsonNode step : script.steps()) {
            JsonNode answer = player.play(step);
            if (step.has("expect")) {
                // As text: a number is the same whether it was parsed as int or long.
                assertEquals(step.get("expect").toString(), String.valueOf(answer),
                        () -> script + ": " + step);
            }
        }
    }

    static Stream<Scripts.Case> limiter() {
        return Scripts.cases("limiter.json").stream();
    }

    @ParameterizedTest
    @MethodSource("limiter")
    void limiterDecidesAsTheScript(Scripts.Case script) {
        JsonNode config = script.config();
        Limiter limiter = new Limiter(new Limiter.Settings(
                config.get("initial").intValue(), config.get("min").intValue(),
                config.get("max").intValue(), config.get("tolerance").doubleValue(),
                config.get("smoothing").doubleValue(), config.get("window_us").longValue(),
                config.get("window_calls_min").intValue(),
                config.get("latency_floor_us").longValue(),
                config.get("probe_every_us").longValue()));
        ArrayDeque<Long> entered = new ArrayDeque<>();
        play(script, step -> {
            long now = step.get("at_us").longValue();
            ObjectNode answer = Scripts.JSON.createObjectNode();
            switch (step.get("do").asText()) {
                case "enter" -> {
                    int count = 0;
                    for (int nth = 0; nth < step.path("times").asInt(1); nth++) {
                        if (limiter.tryEnter(now)) {
                            entered.addLast(now);
                            count++;
                        }
                    }
                    return Scripts.JSON.getNodeFactory().numberNode(count);
                }
                case "leave" -> {
                    int times = step.path("times").asInt(1);
                    Limiter.Work work = step.get("work").asText().equals("done")
                            ? Limiter.Work.DONE : Limiter.Work.ABANDONED;
                    for (int nth = 0; nth < times && !entered.isEmpty(); nth++) {
                        limiter.left(entered.pollFirst(), work, now);
                    }
                    answer.put("inflight", limiter.inflight()).put("limit", limiter.limit());
                }
                case "capacity" -> {
                    double capacity = limiter.capacityPerSecond();
                    if (Double.isNaN(capacity)) {
                        answer.putNull("per_second");
                    } else {
                        answer.put("per_second", (long) capacity);
                    }
                }
                default -> {
                    ArrayNode limits = answer.putArray("limits");
                    int times = step.path("times").asInt(1);
                    int lookEach = step.path("look_each").asInt(times);
                    for (int nth = 0; nth < times; nth++) {
                        long at = now + nth * step.path("every_us").asLong(0);
                        limiter.sample(step.get("latency_us").longValue(),
                                step.get("inflight").intValue(), at);
                        if ((nth + 1) % lookEach == 0 || nth + 1 == times) {
                            limits.add(limiter.limit());
                        }
                    }
                }
            }
            return answer;
        });
    }

    static Stream<Scripts.Case> queue() {
        return Scripts.cases("queue.json").stream();
    }

    private record Waiting(String name, long waitsSinceUs, long deadlineUs)
            implements WaitingCalls.Call {}

    @ParameterizedTest
    @MethodSource("queue")
    void queueDecidesAsTheScript(Scripts.Case script) {
        JsonNode config = script.config();
        WaitingCalls<Waiting> queue = new WaitingCalls<>(new WaitingCalls.Settings(
                config.get("waiting_max").intValue(), config.get("target_us").longValue(),
                config.get("interval_us").longValue()));
        List<Waiting> pushed = new ArrayList<>();
        play(script, step -> {
            long now = step.get("at_us").longValue();
            ArrayNode answers = Scripts.JSON.createArrayNode();
            switch (step.get("do").asText()) {
                case "push" -> {
                    for (JsonNode item : step.get("items")) {
                        Waiting call = new Waiting(item.asText(), now,
                                step.get("deadline_us").longValue());
                        pushed.add(call);
                        WaitingCalls.Fate fate = queue.push(call);
                        switch (fate) {
                            case WAITS -> answers.add("waiting");
                            case FULL -> answers.addObject().put("full", queue.retryAfterMs());
                            default -> answers.addObject()
                                    .put(fate.name().toLowerCase(), queue.taken().name());
                        }
                    }
                }
                case "pop" -> {
                    for (int nth = 0; nth < step.path("times").asInt(1); nth++) {
                        WaitingCalls.Fate fate = queue.pop(now);
                        if (fate == WaitingCalls.Fate.EMPTY) {
                            answers.add("empty");
                        } else {
                            answers.addObject()
                                    .put(fate.name().toLowerCase(), queue.taken().name());
                        }
                    }
                }
                case "cancel" -> {
                    Waiting call = pushed.stream()
                            .filter(one -> one.name().equals(step.get("item").asText()))
                            .findFirst().orElse(null);
                    return Scripts.JSON.getNodeFactory()
                            .booleanNode(call != null && queue.cancel(call));
                }
                case "overloaded" -> {
                    return Scripts.JSON.getNodeFactory().booleanNode(queue.isOverloaded(now));
                }
                case "retry_after_ms" -> {
                    return Scripts.JSON.getNodeFactory().numberNode(queue.retryAfterMs());
                }
                default -> {
                    return Scripts.JSON.getNodeFactory().numberNode(queue.size());
                }
            }
            return answers;
        });
    }

    static Stream<Scripts.Case> lease() {
        return Scripts.cases("lease.json").stream();
    }

    @ParameterizedTest
    @MethodSource("lease")
    void leasesAreDividedAsInTheScript(Scripts.Case script) {
        LeaseShares.Settings settings = new LeaseShares.Settings(
                script.config().get("ttl_ms").intValue(),
                script.config().get("growth").doubleValue(),
                script.config().get("client_min").intValue());
        play(script, step -> {
            JsonNode used = step.get("used");
            int[] askers = new int[used.size()];
            for (int nth = 0; nth < askers.length; nth++) {
                askers[nth] = (int) used.get(nth).longValue();
            }
            int[] granted = step.path("quiescing").asBoolean()
                    ? LeaseShares.quiescing(askers.length)
                    : LeaseShares.divide(settings, step.get("per_second").doubleValue(), askers);
            return Scripts.JSON.valueToTree(granted);
        });
    }

    static Stream<Scripts.Case> load() {
        return Scripts.cases("load.json").stream();
    }

    @ParameterizedTest
    @MethodSource("load")
    void loadIsReadAndReportedAsInTheScript(Scripts.Case script) {
        LoadSignal signal = new LoadSignal();
        play(script, step -> {
            long now = step.path("at_us").longValue();
            switch (step.get("do").asText()) {
                case "read" -> {
                    for (int nth = 0; nth < step.path("times").asInt(1); nth++) {
                        signal.read(new LoadSignal.Reading(
                                step.path("inflight").asInt(0), step.path("limit").asInt(100),
                                (float) step.path("queue_fill").asDouble(0),
                                step.path("wait_ms").asLong(0), step.path("busy_ns").asLong(0),
                                step.path("idle_ns").asLong(1_000_000)),
                                now + nth * step.path("every_us").asLong(0));
                    }
                    return Scripts.JSON.createObjectNode()
                            .put("thousandths", Math.round(signal.factor() * 1000));
                }
                case "report" -> {
                    return Scripts.JSON.getNodeFactory().booleanNode(signal.report(now));
                }
                case "again" -> {
                    signal.reportAgain();
                    return null;
                }
                default -> {
                    return Scripts.JSON.getNodeFactory().numberNode(signal.retryAfterMs());
                }
            }
        });
    }
}
