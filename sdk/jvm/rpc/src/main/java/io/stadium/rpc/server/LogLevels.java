package io.stadium.rpc.server;

/** Reads and sets the log level of a process, for {@code NAME/log-level}. */
@FunctionalInterface
public interface LogLevels {
    /**
     * Sets the level, or asks for it. It runs on the event loop and must not block.
     *
     * @param level {@code error}, {@code warn}, {@code info}, {@code debug}, {@code trace} or
     *     {@code off}; {@code null} asks only
     * @return the level in force, one of the same
     * @throws Refusal the level cannot be set
     */
    String level(String level) throws Refusal;
}
