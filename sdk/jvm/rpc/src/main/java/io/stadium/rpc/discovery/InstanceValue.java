package io.stadium.rpc.discovery;

import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;

/**
 * The data of an instance about itself, and the JSON that a registry holds of it:
 * {@code {"load":0.4,"zone":"a","weight":100,"state":"serving"}}.
 *
 * @param load how busy it is: 0 is idle, 1 is at its limit; finite and not negative
 * @param zone where it runs, at most 64 bytes of UTF-8; empty where that is not known
 * @param weight its share of the calls beside the others', 100 being usual; 0 to 4,294,967,295
 * @param state whether it takes calls
 */
public record InstanceValue(float load, String zone, long weight, State state) {
    /** An idle instance that serves, of no zone and of the usual weight. */
    public static final InstanceValue DEFAULT = new InstanceValue(0, "", 100, State.SERVING);

    /** Bytes of a value; usual ones have about sixty. */
    static final int BYTES_MAX = 4_096;

    private static final int ZONE_BYTES_MAX = 64;
    private static final long WEIGHT_MAX = 0xffffffffL;

    /** Whether an instance takes calls. */
    public enum State {
        /** It does. */
        SERVING,
        /** It finishes the calls that it has, and leaves. */
        QUIESCING;

        @Override
        public String toString() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /**
     * Checks the bounds.
     *
     * @param load the load factor
     * @param zone the zone
     * @param weight the weight
     * @param state the state
     * @throws IllegalArgumentException a value is out of its bounds
     */
    public InstanceValue {
        Objects.requireNonNull(state, "state");
        if (!Float.isFinite(load) || load < 0 || weight < 0 || weight > WEIGHT_MAX
                || zone.getBytes(StandardCharsets.UTF_8).length > ZONE_BYTES_MAX) {
            throw new IllegalArgumentException(
                    "a value has a load of at least 0, a zone of at most 64 bytes and a weight of"
                            + " 32 bits: " + load + ", " + zone + ", " + weight);
        }
    }

    /**
     * Reads a value. Absent fields have defaults, and unknown ones are ignored.
     *
     * @param json the bytes of an entry
     * @return the value; empty where it cannot be read or makes no sense, and the entry is skipped
     */
    public static Optional<InstanceValue> read(byte[] json) {
        if (json.length > BYTES_MAX) {
            return Optional.empty();
        }
        try {
            return Optional.of(new ValueReader(json).read());
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /**
     * Writes the JSON that announces the value.
     *
     * @return at most 4,096 bytes
     */
    public byte[] write() {
        StringBuilder json = new StringBuilder("{\"load\":").append(load);
        if (!zone.isEmpty()) {
            json.append(",\"zone\":\"");
            for (int at = 0; at < zone.length(); at++) {
                char one = zone.charAt(at);
                if (one == '"' || one == '\\' || one < ' ') {
                    json.append(String.format(Locale.ROOT, "\\u%04x", (int) one));
                } else {
                    json.append(one);
                }
            }
            json.append('"');
        }
        json.append(",\"weight\":").append(weight).append(",\"state\":\"").append(state);
        return json.append("\"}").toString().getBytes(StandardCharsets.UTF_8);
    }
}
