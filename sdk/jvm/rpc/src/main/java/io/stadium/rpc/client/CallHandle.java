package io.stadium.rpc.client;

/** A call that has been made. */
@FunctionalInterface
public interface CallHandle {
    /**
     * Gives the call up, from any thread. The service is notified. A call that has ended is not
     * affected; of another the handler gets {@link io.stadium.rpc.Cancelled}.
     */
    void cancel();
}
