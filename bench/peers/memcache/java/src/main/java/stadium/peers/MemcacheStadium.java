// The client of the JVM SDK with its default settings, but for a timeout that is longer than the machine takes the processor
// away.
package stadium.peers;

import io.stadium.memcache.Expiry;
import io.stadium.memcache.MemcacheClient;
import io.stadium.memcache.Pending;
import io.stadium.memcache.Value;
import java.time.Duration;
import java.util.function.Supplier;

final class MemcacheStadium implements MemcacheCalls {
    private static final Duration TIMEOUT = Duration.ofSeconds(10);

    private final MemcacheClient client;

    MemcacheStadium(String address) {
        client = MemcacheClient.builder().servers(address).timeout(TIMEOUT).build();
        client.connectAll();
    }

    @Override
    public void set(String key, byte[] value) {
        client.set(key, value, Expiry.NEVER).ignore();
    }

    @Override
    public byte[] get(String key) {
        return bytes(client.get(key));
    }

    @Override
    public Supplier<byte[]> fetch(String key) {
        Pending<Value> pending = client.fetch(key);
        return () -> bytes(pending.await());
    }

    private static byte[] bytes(Value value) {
        return value == null ? null : value.bytes();
    }
}
