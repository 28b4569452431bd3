package io.stadium.rpc;

import java.util.List;
import java.util.stream.Collectors;

/** No instance could be reached. Nothing happened. */
public final class Unavailable extends RpcException {
    private static final long serialVersionUID = 1L;

    /** The instances that were tried. */
    private final transient List<Attempted> tried;

    /**
     * An instance that was tried.
     *
     * @param address {@code HOST:PORT}, or a name without an address
     * @param why why it could not be used
     */
    public record Attempted(String address, String why) {}

    /**
     * Creates the outcome.
     *
     * @param reason what is wrong
     * @param tried the instances that are known, and how the last attempt at each ended
     */
    public Unavailable(String reason, List<Attempted> tried) {
        super("unavailable: " + reason + text(tried), false);
        this.tried = List.copyOf(tried);
    }

    /**
     * Creates the outcome where no instance was tried.
     *
     * @param reason what is wrong
     */
    public Unavailable(String reason) {
        this(reason, List.of());
    }

    /**
     * The instances that are known and how the last attempt at each ended; the first of very many.
     *
     * @return possibly empty
     */
    public List<Attempted> tried() {
        return tried == null ? List.of() : tried;
    }

    private static String text(List<Attempted> tried) {
        return tried.isEmpty() ? "" : tried.stream()
                .map(one -> one.address() + ": " + one.why())
                .collect(Collectors.joining(", ", ": ", ""));
    }
}
