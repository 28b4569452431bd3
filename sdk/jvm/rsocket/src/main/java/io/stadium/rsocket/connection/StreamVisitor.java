package io.stadium.rsocket.connection;

/** Visits the streams of a connection, see {@link Connection#forEachStream}. */
@FunctionalInterface
public interface StreamVisitor {
    /**
     * Takes one stream.
     *
     * @param streamId the stream
     * @param attachment the driver's object, or {@code null}
     * @param role this side's role
     */
    void visit(int streamId, Object attachment, Role role);
}
