// Xmemcached, tuned: gets and buffers are merged, the selector's thread reads and dispatches, no timers, raw bytes as values.
// The text protocol, in which a set may ask for no answer.
package stadium.peers;

import com.google.code.yanf4j.core.impl.StandardSocketOption;
import java.net.InetSocketAddress;
import java.util.List;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.command.TextCommandFactory;
import net.rubyeye.xmemcached.transcoders.CachedData;
import net.rubyeye.xmemcached.transcoders.CompressionMode;
import net.rubyeye.xmemcached.transcoders.Transcoder;

final class MemcacheXmemcached implements MemcacheCalls {
    private static final long TIMEOUT_MS = 10_000;

    private final MemcachedClient client;

    MemcacheXmemcached(InetSocketAddress address) throws Exception {
        XMemcachedClientBuilder builder = new XMemcachedClientBuilder(List.of(address));
        builder.setCommandFactory(new TextCommandFactory());
        builder.setConnectionPoolSize(1);
        builder.setSelectorPoolSize(1);
        builder.getConfiguration().setReadThreadCount(0);
        builder.getConfiguration().setWriteThreadCount(0);
        builder.getConfiguration().setDispatchMessageThreadCount(0);
        builder.getConfiguration().setStatisticsServer(false);
        builder.setSocketOption(StandardSocketOption.TCP_NODELAY, true);
        builder.setSocketOption(StandardSocketOption.SO_RCVBUF, 256 * 1024);
        builder.setSocketOption(StandardSocketOption.SO_SNDBUF, 256 * 1024);
        builder.setSanitizeKeys(false);
        client = builder.build();
        client.setOptimizeGet(true);
        client.setOptimizeMergeBuffer(true);
        client.setEnableHeartBeat(false);
        client.setOpTimeout(TIMEOUT_MS);
    }

    @Override
    public void set(String key, byte[] value) throws Exception {
        client.setWithNoReply(key, 0, value, Raw.INSTANCE);
    }

    @Override
    public byte[] get(String key) throws Exception {
        return client.get(key, TIMEOUT_MS, Raw.INSTANCE);
    }

    /** Bytes as they are. */
    private static final class Raw implements Transcoder<byte[]> {
        static final Raw INSTANCE = new Raw();

        @Override
        public CachedData encode(byte[] value) {
            return new CachedData(0, value);
        }

        @Override
        public byte[] decode(CachedData data) {
            return data.getData();
        }

        @Override
        public void setPrimitiveAsString(boolean primitiveAsString) {}

        @Override
        public void setPackZeros(boolean packZeros) {}

        @Override
        public void setCompressionThreshold(int bytes) {}

        @Override
        public boolean isPrimitiveAsString() {
            return false;
        }

        @Override
        public boolean isPackZeros() {
            return false;
        }

        @Override
        public void setCompressionMode(CompressionMode mode) {}
    }
}
