package io.stadium.rpc.vectors;

import com.fasterxml.jackson.databind.JsonNode;
import io.stadium.rpc.Explanation;
import io.stadium.rpc.balance.BalanceSettings;
import io.stadium.rpc.balance.Balancer;
import io.stadium.rpc.balance.Hashes;
import io.stadium.rpc.balance.Known;
import io.stadium.rpc.balance.Outcome;
import io.stadium.rpc.balance.Updated;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The events of choose.json, subset.json and ejection.json. */
final class BalancerPlayer implements Script.Player {
    private final Balancer balancer;
    private final Map<Integer, Integer> calls = new HashMap<>();

    BalancerPlayer(JsonNode config) {
        BalanceSettings settings = new BalanceSettings();
        config.fields().forEachRemaining(field -> set(settings, field.getKey(), field.getValue()));
        balancer = new Balancer(settings);
    }

    private static void set(BalanceSettings settings, String name, JsonNode value) {
        switch (name) {
            case "policy" -> settings.policy = value.asText().equals("round-robin")
                    ? BalanceSettings.Policy.ROUND_ROBIN : BalanceSettings.Policy.PEAK_EWMA;
            case "client" -> settings.client =
                    Hashes.hash(value.asText().getBytes(StandardCharsets.UTF_8));
            case "zone" -> settings.zone = value.asText();
            case "zone_instances_min" -> settings.zoneInstancesMin = value.asInt();
            case "subset_size" -> settings.subsetSize = value.asInt();
            case "decay_us" -> settings.decayUs = value.asLong();
            case "latency_default_us" -> settings.latencyDefaultUs = value.asLong();
            case "busy_max_us" -> settings.busyMaxUs = value.asLong();
            case "seed" -> settings.seed = value.asLong();
            case "failures" -> settings.failures = value.asInt();
            case "window_us" -> settings.windowUs = value.asLong();
            case "window_answers_min" -> settings.windowAnswersMin = value.asInt();
            case "success_gap" -> settings.successGap = value.asDouble();
            case "base_us" -> settings.baseUs = value.asLong();
            case "max_us" -> settings.maxUs = value.asLong();
            case "share_max" -> settings.shareMax = value.asDouble();
            case "probes" -> settings.probes = value.asInt();
            case "forget_us" -> settings.forgetUs = value.asLong();
            default -> throw new IllegalArgumentException("no such setting: " + name);
        }
    }

    static Known known(JsonNode one) {
        return new Known(
                one.path("address").asText(), (float) one.path("load").asDouble(0),
                Script.text(one, "zone", ""), Script.number(one, "weight", 100),
                Script.text(one, "version", "1"), one.path("quiescing").asBoolean(false));
    }

    @Override
    public Object play(JsonNode step) {
        long nowUs = step.path("at_us").asLong();
        switch (step.path("do").asText()) {
            case "update":
                List<Known> known = new ArrayList<>();
                step.path("instances").forEach(one -> known.add(known(one)));
                Updated updated = balancer.update(known, nowUs);
                return Script.fields("added", updated.added(), "removed", updated.removed(),
                        "left_out", updated.leftOut());
            case "connected":
                each(step, balancer::connected);
                return null;
            case "disconnected":
                each(step, id -> balancer.disconnected(id, step.path("retry_at_us").asLong()));
                return null;
            case "closed":
                each(step, balancer::closed);
                return null;
            case "load":
                balancer.load(instance(step), (float) step.path("load").asDouble(),
                        step.path("quiescing").asBoolean(false));
                return null;
            case "began":
                calls.put(step.path("call").asInt(), instance(step));
                balancer.began(instance(step), nowUs);
                return null;
            case "ended":
                balancer.ended(calls.get(step.path("call").asInt()), outcome(step),
                        step.path("retry_after_ms").asLong(), step.path("latency_us").asLong(),
                        nowUs);
                return null;
            case "stream_ended":
                balancer.streamEnded(calls.get(step.path("call").asInt()), outcome(step),
                        step.path("retry_after_ms").asLong(), step.path("latency_us").asLong(),
                        nowUs);
                return null;
            case "calls":
                calls(step, nowUs);
                return null;
            case "choose":
                return choose(step, nowUs);
            case "wanted":
                return addresses(balancer.wanted());
            case "state":
                return state(step.path("instance").asText(), nowUs);
            case "inflight":
                return balancer.inflight(instance(step));
            case "ejections":
                return balancer.ejections();
            default:
                throw new IllegalArgumentException("no such event: " + step);
        }
    }

    private interface Each {
        void at(int id);
    }

    private void each(JsonNode step, Each event) {
        step.path("instances").forEach(one -> event.at(balancer.find(one.asText())));
    }

    private int instance(JsonNode step) {
        return balancer.find(step.path("instance").asText());
    }

    static Outcome outcome(JsonNode step) {
        return Outcome.valueOf(step.path("outcome").asText().toUpperCase(Locale.ROOT));
    }

    private void calls(JsonNode step, long nowUs) {
        long latencyUs = step.path("latency_us").asLong();
        long atUs = nowUs;
        for (int nth = 0; nth < step.path("times").asInt(); nth++) {
            balancer.began(instance(step), atUs);
            atUs += latencyUs;
            balancer.ended(instance(step), outcome(step), step.path("retry_after_ms").asLong(),
                    latencyUs, atUs);
        }
    }

    private Object choose(JsonNode step, long nowUs) {
        int[] exclude = new int[step.path("exclude").size()];
        for (int nth = 0; nth < exclude.length; nth++) {
            exclude[nth] = balancer.find(step.path("exclude").get(nth).asText());
        }
        if (step.has("times")) {
            List<String> chosen = new ArrayList<>();
            for (int nth = 0; nth < step.path("times").asInt(); nth++) {
                chosen.add(balancer.address(choose(step, exclude, nowUs)));
            }
            return chosen;
        }
        Explanation explained = exclude.length > 0 ? null : balancer.explain(nowUs,
                step.has("key") ? Long.valueOf(key(step)) : null, "");
        int id = choose(step, exclude, nowUs);
        if (explained != null && !java.util.Objects.equals(explained.chosen(),
                balancer.address(id))) {
            return "explained " + explained;
        }
        return id == Balancer.NONE ? Script.fields("instance", null)
                : Script.fields("instance", balancer.address(id), "why",
                        balancer.why().toString(), "connected", balancer.isConnected());
    }

    private static long key(JsonNode step) {
        return Hashes.hash(step.path("key").asText().getBytes(StandardCharsets.UTF_8));
    }

    private int choose(JsonNode step, int[] exclude, long nowUs) {
        return step.has("key") ? balancer.chooseByKey(nowUs, key(step), exclude, exclude.length)
                : balancer.choose(nowUs, exclude, exclude.length);
    }

    private List<String> addresses(int[] ids) {
        List<String> addresses = new ArrayList<>();
        for (int id : ids) {
            addresses.add(balancer.address(id));
        }
        return addresses;
    }

    private Object state(String address, long nowUs) {
        for (Explanation.Instance one : balancer.explain(nowUs, null, "").instances()) {
            if (one.address().equals(address)) {
                boolean isTimed = switch (one.state()) {
                    case LOST, EJECTED, BUSY -> true;
                    default -> false;
                };
                return isTimed
                        ? Script.fields("is", one.state().toString(), "for_us", one.forUs())
                        : Script.fields("is", one.state().toString());
            }
        }
        return null;
    }
}
