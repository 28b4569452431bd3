package io.stadium.memcache;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Duration;

/**
 * A client of one or several memcached servers, with keys of text, which are UTF-8.
 *
 * <p>Any number of threads share one client. Writes return at once with a {@link Pending}; reads
 * wait. For one key, operations of one thread take effect in their order, whatever is waited for.
 * Each call ends at its deadline at the latest.
 *
 * <p>No thread of the client reads answers: the caller that waits drives the connection for all. A
 * daemon thread for each server connects, writes after 1 ms what no caller waits for, and drives
 * for futures.
 */
public final class MemcacheClient extends MemcacheOperations<String> implements AutoCloseable {
    MemcacheClient(ClientCore core, long timeout) {
        super(core, timeout);
    }

    /**
     * Connects to servers, with the default settings.
     *
     * @param servers each {@code host}, {@code host:port}, or the path of a Unix socket
     * @return a client that its caller closes
     * @throws MemcacheException a server cannot be reached
     */
    public static MemcacheClient connect(String... servers) {
        MemcacheClient client = builder().servers(servers).build();
        try {
            client.connectAll();
            return client;
        } catch (MemcacheException error) {
            client.close();
            throw error;
        }
    }

    /**
     * Begins to make a client.
     *
     * @return a builder without servers
     */
    public static ClientBuilder builder() {
        return new ClientBuilder();
    }

    @Override
    byte[] bytes(String key) {
        return key.getBytes(UTF_8);
    }

    /**
     * The same client with another time that each operation may take.
     *
     * @param time replaces {@link ClientBuilder#timeout}
     * @return a view, which need not be closed
     */
    public MemcacheClient withTimeout(Duration time) {
        return new MemcacheClient(core, ClientBuilder.nanos(time));
    }

    /**
     * The same client with keys of any bytes. Those that are not printable ASCII are sent in
     * base64, which the meta protocol alone understands and which leaves 186 bytes.
     *
     * @return a view
     */
    public MemcacheOperations<byte[]> byteKeys() {
        return new ByteKeys(core, timeout);
    }

    /**
     * Ends the client and its views. Writes that were submitted still leave: for up to 200 ms, a
     * thread of the client reads what the servers owe. Operations after it fail.
     */
    @Override
    public void close() {
        core.servers.forEach(server -> server.connection.close());
        core.udp.close();
    }
}
