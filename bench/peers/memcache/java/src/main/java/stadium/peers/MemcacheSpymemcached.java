// spymemcached, tuned: gets are merged, no Nagle's algorithm, raw bytes as values. In the text protocol, because the binary one
// merges no gets with sets between them. Every set is answered, for it has no other.
package stadium.peers;

import java.net.InetSocketAddress;
import java.util.List;
import net.spy.memcached.CachedData;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.ConnectionFactoryBuilder.Protocol;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.transcoders.Transcoder;

final class MemcacheSpymemcached implements MemcacheCalls {
    private static final long TIMEOUT_MS = 10_000;

    private final MemcachedClient client;

    MemcacheSpymemcached(InetSocketAddress address) throws Exception {
        System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SLF4JLogger");
        ConnectionFactoryBuilder builder = new ConnectionFactoryBuilder();
        builder.setProtocol(Protocol.valueOf(System.getProperty("spy.protocol", "TEXT")));
        builder.setShouldOptimize(true);
        builder.setUseNagleAlgorithm(false);
        builder.setReadBufferSize(256 * 1024);
        builder.setOpTimeout(TIMEOUT_MS);
        client = new MemcachedClient(builder.build(), List.of(address));
    }

    @Override
    public void set(String key, byte[] value) {
        client.set(key, 0, value, Raw.INSTANCE);
    }

    @Override
    public byte[] get(String key) {
        return client.get(key, Raw.INSTANCE);
    }

    /** Bytes as they are. */
    private static final class Raw implements Transcoder<byte[]> {
        static final Raw INSTANCE = new Raw();

        @Override
        public boolean asyncDecode(CachedData data) {
            return false;
        }

        @Override
        public CachedData encode(byte[] value) {
            return new CachedData(0, value, getMaxSize());
        }

        @Override
        public byte[] decode(CachedData data) {
            return data.getData();
        }

        @Override
        public int getMaxSize() {
            return CachedData.MAX_SIZE;
        }
    }
}
