package io.stadium.rpc.balance;

import io.stadium.rpc.Explanation;
import io.stadium.rpc.Explanation.Candidate;
import io.stadium.rpc.Explanation.State;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Describes instances and a choice among them for people. */
final class Explainer {
    private final Table table;
    private final long nowUs;

    Explainer(Table table, long nowUs) {
        this.table = table;
        this.nowUs = nowUs;
    }

    Explanation explain(Draw draw, Long keyHash, String discovery) {
        List<Explanation.Instance> instances = new ArrayList<>();
        for (int slot = 0; slot < table.length; slot++) {
            if (table.slots[slot] != null) {
                instances.add(describe(table.slots[slot]));
            }
        }
        List<Candidate> candidates = new ArrayList<>(2);
        if (draw.first >= 0) {
            candidates.add(new Candidate(table.slots[draw.first].address, draw.firstCost));
        }
        if (draw.second >= 0) {
            candidates.add(new Candidate(table.slots[draw.second].address, draw.secondCost));
        }
        String chosen = draw.slot < 0 ? null : table.slots[draw.slot].address;
        String why = chosen != null ? sentence(draw.why, chosen, candidates, keyHash)
                : table.size() == 0 ? "no instance is known"
                : "every known instance is quiescing or cannot be reached";
        return new Explanation(
                List.copyOf(instances), List.copyOf(candidates), chosen,
                draw.why == null ? null : draw.why.toString(), why, discovery);
    }

    private Explanation.Instance describe(Instance one) {
        State state = state(one);
        return new Explanation.Instance(
                one.address, one.zone, one.version, one.weight, one.load,
                one.latency.isEmpty() ? Double.NaN : one.latency.at(nowUs), one.inflight, state,
                forUs(one, state));
    }

    private State state(Instance one) {
        if (one.isQuiescing()) {
            return State.QUIESCING;
        }
        if (one.isLost()) {
            return State.LOST;
        }
        Health.Standing standing = one.health.standing(nowUs);
        if (standing != Health.Standing.SERVING) {
            return standing == Health.Standing.EJECTED ? State.EJECTED : State.PROBATION;
        }
        if (nowUs < one.busyUntilUs) {
            return State.BUSY;
        }
        if (!one.isInSubset) {
            return State.OUTSIDE_SUBSET;
        }
        return one.isConnected() ? State.SERVING : State.NOT_CONNECTED;
    }

    private long forUs(Instance one, State state) {
        return switch (state) {
            case LOST -> Math.max(one.retryAtUs - nowUs, 0);
            case EJECTED -> Math.max(one.health.ejectedUntilUs() - nowUs, 0);
            case BUSY -> one.busyUntilUs - nowUs;
            default -> 0;
        };
    }

    private String sentence(Why why, String chosen, List<Candidate> candidates, Long keyHash) {
        String versus = "";
        if (candidates.size() == 2) {
            boolean isFirst = candidates.get(0).address().equals(chosen);
            Candidate taken = candidates.get(isFirst ? 0 : 1);
            Candidate other = candidates.get(isFirst ? 1 : 0);
            versus = String.format(Locale.ROOT, " (cost %.0f against %.0f at %s)", taken.cost(),
                    other.cost(), other.address());
        }
        return switch (why) {
            case LOWER_COST -> chosen + " costs less than the other candidate" + versus;
            case ONLY_ONE -> chosen + " is the only instance that may be chosen";
            case KEY -> sentenceOfKey(chosen, keyHash);
            case PROBE -> chosen + " is on probation, and this call is its probe";
            case ROUND_ROBIN -> "it is the turn of " + chosen;
            case NOT_CONNECTED ->
                    "nothing is connected, and " + chosen + " is worth a try" + versus;
            case ALL_BUSY -> "all have answered BUSY, and " + chosen + " costs least" + versus;
            case OUTSIDE_SUBSET ->
                    "no instance of the subset is left, so " + chosen + " is used" + versus;
            case PANIC -> "all instances are ejected, so none is: " + chosen + versus;
        };
    }

    private String sentenceOfKey(String chosen, long keyHash) {
        Instance owner = null;
        double best = Double.POSITIVE_INFINITY;
        for (int slot = 0; slot < table.length; slot++) {
            Instance one = table.slots[slot];
            if (one != null && one.score(Hashes.partition(keyHash)) < best) {
                best = one.score(Hashes.partition(keyHash));
                owner = one;
            }
        }
        if (owner == null || owner.address.equals(chosen)) {
            return "the key belongs to " + chosen;
        }
        return "the key belongs to " + owner.address + ", which is " + state(owner) + "; " + chosen
                + " is next in its order";
    }
}
