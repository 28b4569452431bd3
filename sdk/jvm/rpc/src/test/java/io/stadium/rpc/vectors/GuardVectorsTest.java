package io.stadium.rpc.vectors;

import com.fasterxml.jackson.databind.JsonNode;
import io.stadium.rpc.balance.Backoff;
import io.stadium.rpc.balance.BalanceSettings;
import io.stadium.rpc.balance.Balancer;
import io.stadium.rpc.balance.Budget;
import io.stadium.rpc.balance.Hashes;
import io.stadium.rpc.balance.Hedge;
import io.stadium.rpc.balance.Known;
import io.stadium.rpc.balance.RandomNumbers;
import io.stadium.rpc.balance.RetryRule;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The guards decide as the scripts of proto/vectors say. */
class GuardVectorsTest {
    @Test
    void randomNumbersAreThoseOfEveryLanguage() {
        Script.check("random.json", Set.of(), RandomPlayer::new);
    }

    private static final class RandomPlayer implements Script.Player {
        private RandomNumbers random;

        RandomPlayer(JsonNode config) {
            random = new RandomNumbers(Long.parseUnsignedLong(config.path("seed").asText(), 16));
        }

        @Override
        public Object play(JsonNode step) {
            List<Object> numbers = new ArrayList<>();
            if (step.path("do").asText().equals("seed")) {
                random = new RandomNumbers(Long.parseUnsignedLong(step.path("seed").asText(), 16));
                return null;
            }
            for (int nth = 0; nth < step.path("times").asInt(); nth++) {
                numbers.add(switch (step.path("do").asText()) {
                    case "bits" -> String.format("%016x", random.bits());
                    case "below" -> random.below((int) step.path("bound").asLong())
                            & 0xffffffffL;
                    case "within" -> random.within(step.path("low").asLong(),
                            step.path("high").asLong());
                    default -> throw new IllegalArgumentException(step.toString());
                });
            }
            return numbers;
        }
    }

    @Test
    void keysPreferTheInstancesThatTheyPreferInEveryLanguage() {
        Script.check("rendezvous.json", Set.of(), config -> new RendezvousPlayer());
    }

    private static final class RendezvousPlayer implements Script.Player {
        private final Balancer balancer = new Balancer(new BalanceSettings());

        @Override
        public Object play(JsonNode step) {
            switch (step.path("do").asText()) {
                case "hash":
                    byte[] bytes = Script.bytes(step.path("bytes_hex").asText());
                    long hash = Hashes.hash(bytes);
                    return Script.fields("fnv1a", String.format("%016x", Hashes.fnv(bytes)),
                            "hash", String.format("%016x", hash), "partition",
                            Hashes.partition(hash));
                case "instances":
                    List<Known> known = new ArrayList<>();
                    step.path("instances").forEach(one -> known.add(BalancerPlayer.known(one)));
                    balancer.update(known, 1);
                    return null;
                case "order":
                    long key = Hashes.hash(Script.bytes(step.path("key_hex").asText()));
                    int top = (int) Script.number(step, "top", balancer.size());
                    int[] before = new int[top];
                    List<String> order = new ArrayList<>();
                    for (int nth = 0; nth < top; nth++) {
                        before[nth] = balancer.chooseByKey(1, key, before, nth);
                        if (before[nth] == Balancer.NONE) {
                            break;
                        }
                        order.add(balancer.address(before[nth]));
                    }
                    return order;
                default:
                    throw new IllegalArgumentException(step.toString());
            }
        }
    }

    @Test
    void callsGoWhereTheScriptSays() {
        Script.check("choose.json", Set.of(), BalancerPlayer::new);
    }

    @Test
    void theSubsetIsTheOneOfTheScript() {
        Script.check("subset.json", Set.of(), BalancerPlayer::new);
    }

    @Test
    void instancesAreEjectedAsTheScriptSays() {
        Script.check("ejection.json", Set.of(), BalancerPlayer::new);
    }

    @Test
    void aBudgetGivesWhatTheScriptSays() {
        Script.check("budget.json", Set.of(), config -> {
            Budget budget = new Budget(config.path("share").asDouble(),
                    config.path("per_second_min").asInt(), config.path("saved_max").asInt());
            return step -> budget(budget, step);
        });
    }

    private static Object budget(Budget budget, JsonNode step) {
        long nowUs = step.path("at_us").asLong();
        int times = (int) Script.number(step, "times", 1);
        switch (step.path("do").asText()) {
            case "called":
                for (int nth = 0; nth < times; nth++) {
                    budget.called();
                }
                return null;
            case "take":
                int taken = 0;
                for (int nth = 0; nth < times; nth++) {
                    taken += budget.take(nowUs) ? 1 : 0;
                }
                return taken;
            case "left":
                return budget.left(nowUs);
            default:
                throw new IllegalArgumentException(step.toString());
        }
    }

    @Test
    void attemptsAreMadeAgainAsTheScriptSays() {
        Script.check("retry.json", Set.of(), config -> {
            Budget budget = new Budget(config.path("share").asDouble(),
                    config.path("per_second_min").asInt(), 100);
            RetryRule rule = new RetryRule(config.path("attempts_max").asInt(),
                    config.path("wait_min_us").asLong());
            RandomNumbers random = new RandomNumbers(config.path("seed").asLong());
            return step -> step.path("do").asText().equals("called") ? budget(budget, step)
                    : decide(rule, budget, random, step);
        });
    }

    private static Object decide(
            RetryRule rule, Budget budget, RandomNumbers random, JsonNode step) {
        long nowUs = step.path("at_us").asLong();
        long atUs = rule.decide(
                BalancerPlayer.outcome(step), step.path("retry_after_ms").asLong(),
                step.path("made").asInt(), step.path("idempotent").asBoolean(),
                step.path("elsewhere").asBoolean(), step.path("deadline_us").asLong(), nowUs,
                budget, random);
        if (atUs >= 0) {
            return step.path("elsewhere").asBoolean() ? Script.fields("decision", "now")
                    : Script.fields("decision", "at", "at_us", atUs);
        }
        Map<Long, String> reasons = Map.of(
                RetryRule.STOP_FINAL, "final", RetryRule.STOP_NOT_IDEMPOTENT, "not-idempotent",
                RetryRule.STOP_ATTEMPTS, "attempts", RetryRule.STOP_DEADLINE, "deadline",
                RetryRule.STOP_BUDGET, "budget");
        return Script.fields("decision", "stop", "reason", reasons.get(atUs));
    }

    @Test
    void copiesAreDueWhenTheScriptSays() {
        Script.check("hedge.json", Set.of(), config -> {
            Hedge hedge = new Hedge(new Hedge.Settings(
                    config.path("samples_min").asInt(), config.path("percentile").asDouble(),
                    config.path("factor").asDouble(), config.path("wait_min_us").asLong(),
                    config.path("window_us").asLong(), config.path("share").asDouble()));
            return step -> hedge(hedge, step);
        });
    }

    private static Object hedge(Hedge hedge, JsonNode step) {
        long nowUs = step.path("at_us").asLong();
        long times = Script.number(step, "times", 1);
        switch (step.path("do").asText()) {
            case "answered":
                for (int nth = 0; nth < times; nth++) {
                    hedge.answered(step.path("latency_us").asLong(),
                            nowUs + nth * Script.number(step, "every_us", 0));
                }
                return null;
            case "called":
                long waitUs = Hedge.NEVER;
                for (int nth = 0; nth < times; nth++) {
                    waitUs = hedge.called();
                }
                return Script.fields("wait_us", waitUs == Hedge.NEVER ? null : waitUs);
            case "take":
                int taken = 0;
                for (int nth = 0; nth < times; nth++) {
                    taken += hedge.take(nowUs) ? 1 : 0;
                }
                return taken;
            default:
                throw new IllegalArgumentException(step.toString());
        }
    }

    @Test
    void connectionsAreTriedAgainWhenTheScriptSays() {
        Script.check("backoff.json", Set.of(), config -> {
            Backoff backoff = new Backoff(config.path("base_ms").asLong(),
                    config.path("max_ms").asLong());
            RandomNumbers random = new RandomNumbers(config.path("seed").asLong());
            return step -> {
                if (step.path("do").asText().equals("reset")) {
                    backoff.reset();
                    return null;
                }
                List<Long> waits = new ArrayList<>();
                for (int nth = 0; nth < step.path("times").asInt(); nth++) {
                    waits.add(backoff.waitMs(random));
                }
                return Script.fields("waits_ms", waits);
            };
        });
    }
}
