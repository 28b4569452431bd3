package io.stadium.rpc.discovery;

import java.util.function.Consumer;

/**
 * Names the instances of services, and reports when they change.
 *
 * <p>A client calls {@link #watch} once for each service that it calls and for each of its event
 * loops, from any thread. An implementation does not block in any of these methods.
 */
public interface InstanceSource extends AutoCloseable {
    /**
     * Watches the instances of a service.
     *
     * @param service the name of the service
     * @param listener gets the present list at once or as soon as there is one, and every list
     *     after a change. It is called by any thread, by one at a time, and does not block
     * @return ends the watch
     */
    Watch watch(String service, Consumer<Instances> listener);

    /** A connection to an instance failed or ended: names may have other addresses now. */
    default void connectionFailed() {}

    /** Ends all watches, threads and connections of the source. */
    @Override
    void close();

    /** A watch that has begun. */
    @FunctionalInterface
    interface Watch {
        /** Ends the watch: the listener gets no further lists. */
        void cancel();
    }
}
