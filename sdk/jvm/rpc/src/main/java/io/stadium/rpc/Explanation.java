package io.stadium.rpc;

import java.util.List;
import java.util.Locale;

/**
 * All that a client knows of a service's instances, and the choice that it would make now.
 *
 * @param instances all instances that are known
 * @param candidates the two that would be drawn; empty where none is drawn by lot
 * @param chosen the address of the instance that a call would go to, or {@code null}
 * @param reason why in a word, such as {@code lower-cost}, or {@code null}
 * @param why why in a sentence
 * @param discovery how far the list of instances can be trusted
 */
public record Explanation(
        List<Instance> instances, List<Candidate> candidates, String chosen, String reason,
        String why, String discovery) {
    /**
     * An instance that is known.
     *
     * @param address {@code HOST:PORT}
     * @param zone where it stands; empty where that is not known
     * @param version the version of the service that it runs
     * @param weight its share of the calls beside the others', 100 being usual
     * @param load its load factor: 0 is idle, 1 is full
     * @param latencyUs the moving average of its latencies in microseconds; NaN before the first
     * @param inflight calls of this client under way there
     * @param state whether it is used
     * @param forUs microseconds for which it still is lost, ejected or busy; 0 otherwise
     */
    public record Instance(
            String address, String zone, String version, long weight, float load,
            double latencyUs, int inflight, State state, long forUs) {}

    /**
     * An instance that would be drawn.
     *
     * @param address {@code HOST:PORT}
     * @param cost microseconds of expected latency, times calls under way, load and weight
     */
    public record Candidate(String address, double cost) {}

    /** Whether an instance is used. */
    public enum State {
        /** It gets calls. */
        SERVING,
        /** It failed too often and gets no calls for a time. */
        EJECTED,
        /** It gets one call at a time until some have been answered. */
        PROBATION,
        /** It leaves, or has no weight. */
        QUIESCING,
        /** It answered BUSY and gets no calls for a time. */
        BUSY,
        /** No connection is up, and one may be tried. */
        NOT_CONNECTED,
        /** The connection failed or broke, and is not tried again for a time. */
        LOST,
        /** It is used for keys only; other instances are this client's. */
        OUTSIDE_SUBSET;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }
    }

    /** A table of the instances, the candidates, and the choice. */
    @Override
    public String toString() {
        int width = instances.stream().mapToInt(one -> one.address.length()).max().orElse(0);
        String address = "%-" + Math.max(width, 8) + "s";
        StringBuilder text = new StringBuilder();
        text.append(String.format(Locale.ROOT, address + "  %-10s  %6s  %5s  %11s  %8s  STATE%n",
                "INSTANCE", "ZONE", "WEIGHT", "LOAD", "LATENCY", "INFLIGHT"));
        for (Instance one : instances) {
            String latency = Double.isNaN(one.latencyUs) ? "-"
                    : String.format(Locale.ROOT, "%.3f ms", one.latencyUs / 1e3);
            String state = one.forUs == 0 ? one.state.toString()
                    : one.state + " for " + (one.forUs + 999) / 1_000 + " ms";
            text.append(String.format(Locale.ROOT,
                    address + "  %-10s  %6d  %5.2f  %11s  %8d  %s%n", one.address,
                    one.zone.isEmpty() ? "-" : one.zone, one.weight, one.load, latency,
                    one.inflight, state));
        }
        for (Candidate one : candidates) {
            text.append(String.format(Locale.ROOT, "candidate %s: cost %.0f%n", one.address,
                    one.cost));
        }
        text.append("discovery: ").append(discovery).append(System.lineSeparator());
        return text.append("chosen ").append(chosen == null ? "none" : chosen).append(": ")
                .append(why).toString();
    }
}
