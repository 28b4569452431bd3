package io.stadium.rpc.server;

import io.stadium.rpc.discovery.InstanceValue;
import io.stadium.rpc.discovery.Place;
import java.time.Duration;

/**
 * Where a server registers its services, so that clients find them. docs/discovery.md has the
 * layout. The modules for etcd and ZooKeeper implement it.
 */
public interface Registrar {
    /**
     * Registers an instance and keeps it registered: it is written again after the backend was
     * away. It never waits for the backend.
     *
     * @param service the name of the service
     * @param place its version, and the address that clients connect to
     * @param value its first value
     * @return the registration
     */
    Registration register(String service, Place place, InstanceValue value);

    /** An instance that is registered. Its methods may be called by any thread. */
    interface Registration {
        /**
         * Notes the load factor. It is written when it changed by more than 0.05, at most once a
         * second.
         *
         * @param load the load factor; one that is negative or not finite is ignored
         */
        void load(float load);

        /**
         * Writes that the instance quiesces, then removes its entry: clients drop it at once. A
         * second call waits for the same end.
         *
         * @param within how long to wait for the backend
         * @return whether the backend has confirmed it. Otherwise the entry ends with its lease or
         *     session
         */
        boolean withdraw(Duration within);
    }
}
