package io.stadium.memcache;

import io.stadium.memcache.driver.Connection;
import io.stadium.memcache.driver.UdpSockets.Request;
import io.stadium.memcache.protocol.Command;
import io.stadium.memcache.protocol.Operation;
import java.util.ArrayList;
import java.util.List;

/**
 * Gets over UDP.
 *
 * <p>They need no connection of their own in the server, and may be lost. They have no order with
 * other operations, and do not eject a server.
 */
final class LossyReads {
    /** The name of these operations for an {@link Observer}. */
    private static final String NAME = "lossy_get";

    private LossyReads() {}

    /** Reads values, each with its own outcome, in the order of the keys. */
    static List<Outcome<Value>> read(ClientCore core, List<byte[]> keys, long timeout) {
        long deadline = System.nanoTime() + timeout;
        // An operation, or the failure that kept it from a server.
        List<Object> begun = new ArrayList<>(keys.size());
        List<Request> requests = new ArrayList<>(keys.size());
        for (byte[] key : keys) {
            try {
                Operation operation = core.operation(Command.GET, key, timeout);
                Server server = core.route(operation.key);
                Connection connection = server.connection;
                requests.add(new Request(operation, connection, connection.udpPeer(deadline)));
                begun.add(operation);
            } catch (MemcacheException error) {
                begun.add(error);
            }
        }
        if (!requests.isEmpty()) {
            requests.forEach(
                    one -> core.observe(one.operation(), NAME, one.server().address()));
            core.udp.exchange(requests, deadline);
        }
        return begun.stream().map(one -> outcome(core, one)).toList();
    }

    private static Outcome<Value> outcome(ClientCore core, Object begun) {
        if (begun instanceof MemcacheException error) {
            return Outcome.failed(error);
        }
        Operation operation = (Operation) begun;
        if (operation.error != null) {
            return Outcome.failed(operation.error);
        }
        try {
            return Outcome.of(core.value(operation));
        } catch (MemcacheException error) {
            return Outcome.failed(error);
        }
    }
}
