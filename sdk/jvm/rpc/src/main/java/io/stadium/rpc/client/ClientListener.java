package io.stadium.rpc.client;

import io.stadium.rpc.RpcException;

/**
 * Notified of calls and connections, for metrics. The methods are called on event loops of the
 * client and must not block.
 */
public interface ClientListener {
    /** Ignores everything. */
    ClientListener NONE = new ClientListener() {};

    /**
     * A call has ended.
     *
     * @param route the route of its method
     * @param failure why it has no answer, or {@code null}
     * @param micros microseconds since it was made
     * @param attempts how many requests were sent for it
     */
    default void onCallEnded(String route, RpcException failure, long micros, int attempts) {}

    /**
     * A connection is up.
     *
     * @param service the service
     * @param address the instance
     */
    default void onConnected(String service, String address) {}

    /**
     * A connection failed or has ended.
     *
     * @param service the service
     * @param address the instance
     * @param why why
     */
    default void onDisconnected(String service, String address, String why) {}
}
