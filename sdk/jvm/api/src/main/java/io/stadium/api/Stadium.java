package io.stadium.api;

import io.stadium.rpc.client.RpcClient;
import io.stadium.v1.ListRequest;
import io.stadium.v1.QueueList;
import io.stadium.v1.QueueMethods;
import io.stadium.v1.QueueStats;
import java.util.List;

/**
 * A connection to a Stadium server, or to the nodes of a cluster, with an API key.
 *
 * <p>All methods of this class and of the classes that it gives may be called from any thread.
 * Blocking ones do not pin virtual threads, and throw on event loops of the client. Futures
 * complete on these loops, which must not be blocked. Each call ends at its deadline at the latest.
 */
public final class Stadium implements AutoCloseable {
    private final Calls calls;

    Stadium(Calls calls) {
        this.calls = calls;
    }

    /**
     * Begins with the default settings.
     *
     * @return a builder, which needs addresses or a discovery, and a key
     */
    public static StadiumBuilder builder() {
        return new StadiumBuilder();
    }

    /**
     * Connects to a server, with the default settings.
     *
     * @param address {@code HOST:PORT} of RPC, such as {@code 127.0.0.1:7800}
     * @param key the API key
     * @return a client that its caller closes
     */
    public static Stadium connect(String address, ApiKey key) {
        return builder().addresses(address).key(key).start();
    }

    /**
     * A queue. Nothing is asked; the first put makes the queue on the server.
     *
     * @param name letters, digits, {@code -}, {@code _} and {@code .}; at most 128 bytes
     * @return the queue
     */
    public Queue queue(String name) {
        return new Queue(new AsyncQueue(calls, name));
    }

    /**
     * The figures of all queues, by name, a page at a time.
     *
     * @param queuesMax 1 to 1,000
     * @param after the last queue of the page before; empty: the first page
     * @return the figures
     */
    public List<QueueStats> queues(int queuesMax, String after) {
        Bounds.check("queuesMax", queuesMax, 1, Bounds.ITEMS_MAX);
        ListRequest request =
                ListRequest.newBuilder().setQueuesMax(queuesMax).setAfter(after).build();
        return calls.client().await(
                calls.call(QueueMethods.LIST, request, QueueList::getQueuesList));
    }

    /**
     * A worker of a queue.
     *
     * @param queue the queue's name
     * @return a builder
     */
    public WorkerBuilder worker(String queue) {
        return new WorkerBuilder(new AsyncQueue(calls, queue));
    }

    /**
     * The wallets of the server.
     *
     * @return the wallets
     */
    public Wallets wallets() {
        return new Wallets(new AsyncWallets(calls));
    }

    /**
     * The pushes of the app {@code default}.
     *
     * @return the pushes
     */
    public Pushes pushes() {
        return pushes("default");
    }

    /**
     * The pushes of an app.
     *
     * @param app its name
     * @return the pushes
     */
    public Pushes pushes(String app) {
        return new Pushes(new AsyncPushes(calls, app));
    }

    /**
     * The devices of the app {@code default}.
     *
     * @return the devices
     */
    public Devices devices() {
        return devices("default");
    }

    /**
     * The devices of an app.
     *
     * @param app its name
     * @return the devices
     */
    public Devices devices(String app) {
        return new Devices(new AsyncDevices(calls, app));
    }

    /**
     * The client, for calls of other services at the same addresses. They do not carry the key.
     *
     * @return the client, which ends with this object
     */
    public RpcClient client() {
        return calls.client();
    }

    /** Ends all calls and connections. Drain workers before. */
    @Override
    public void close() {
        calls.client().close();
    }
}
