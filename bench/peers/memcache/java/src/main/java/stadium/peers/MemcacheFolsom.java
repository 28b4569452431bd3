// Folsom, tuned: one connection, raw bytes, completed on the event loop, as many requests as the load has, no metrics.
package stadium.peers;

import com.spotify.folsom.ConnectFuture;
import com.spotify.folsom.MemcacheClientBuilder;
import com.spotify.folsom.MemcacheStatus;
import java.net.InetSocketAddress;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;

final class MemcacheFolsom implements MemcacheCalls {
    private static final long TIMEOUT_MS = 10_000;
    private static final int OUTSTANDING_MAX = 10_000;

    private final com.spotify.folsom.MemcacheClient<byte[]> client;

    MemcacheFolsom(InetSocketAddress address) throws Exception {
        client =
                MemcacheClientBuilder.newByteArrayClient()
                        .withAddress(address.getHostString(), address.getPort())
                        .withConnections(1)
                        .withMaxOutstandingRequests(OUTSTANDING_MAX)
                        .withRequestTimeoutMillis(TIMEOUT_MS)
                        .withReplyExecutor(Runnable::run)
                        .connectAscii();
        ConnectFuture.connectFuture(client).toCompletableFuture().get(TIMEOUT_MS, TimeUnit.MILLISECONDS);
    }

    @Override
    public void set(String key, byte[] value) {
        CompletionStage<MemcacheStatus> unused = client.set(key, value, 0);
    }

    @Override
    public byte[] get(String key) throws Exception {
        return client.get(key).toCompletableFuture().get();
    }
}
