package io.stadium.memcache.load;

import io.stadium.memcache.Expiry;
import io.stadium.memcache.MemcacheClient;
import io.stadium.memcache.Pending;
import io.stadium.memcache.Value;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import net.rubyeye.xmemcached.MemcachedClient;
import net.rubyeye.xmemcached.XMemcachedClientBuilder;
import net.rubyeye.xmemcached.utils.AddrUtil;

/**
 * Measures this client and Xmemcached: half asynchronous sets, half waited gets of 100 bytes on one
 * connection.
 *
 * <p>Arguments: {@code PEERS ADDRESS [CALLERS] [OPERATIONS] [ROUNDS]}. Peers are {@code stadium},
 * {@code xmemcached}, or {@code stadium,xmemcached}, which take turns. {@code 0} callers means one
 * thread with 1,000 gets in flight. Prints milliseconds for each round; the first ones warm up.
 */
public final class MemcacheLoad {
    private static final int KEYS = 10_000;
    private static final byte[] VALUE = new byte[100];

    private MemcacheLoad() {}

    /** A client under load. */
    private interface Peer extends AutoCloseable {
        void set(String key, byte[] value) throws Exception;

        void get(String key) throws Exception;

        @Override
        void close() throws IOException;
    }

    private record Stadium(MemcacheClient client) implements Peer {
        @Override
        public void set(String key, byte[] value) {
            client.set(key, value, Expiry.NEVER).ignore();
        }

        @Override
        public void get(String key) {
            Value value = client.get(key);
            check(value.bytes());
        }

        @Override
        public void close() {
            client.close();
        }
    }

    private record Xmemcached(MemcachedClient client) implements Peer {
        @Override
        public void set(String key, byte[] value) throws Exception {
            client.setWithNoReply(renamed(key), 0, value);
        }

        @Override
        public void get(String key) throws Exception {
            check(client.get(renamed(key)));
        }

        /** Each client reads its own values: flags differ. */
        private static String renamed(String key) {
            return "xey:".concat(key.substring(4));
        }

        @Override
        public void close() throws IOException {
            client.shutdown();
        }
    }

    private static void check(byte[] value) {
        if (value.length != VALUE.length) {
            throw new IllegalStateException("a value of " + value.length + " bytes");
        }
    }

    /**
     * Runs the load.
     *
     * @param arguments see the class
     * @throws Exception an operation failed
     */
    public static void main(String[] arguments) throws Exception {
        Arrays.fill(VALUE, (byte) 'v');
        List<String> names = List.of(arguments[0].split(","));
        int callers = number(arguments, 2, 8);
        int operations = number(arguments, 3, 800_000);
        int rounds = number(arguments, 4, 1);
        List<Peer> peers = new ArrayList<>();
        for (String name : names) {
            Peer peer = peer(name, arguments[1]);
            peers.add(peer);
            for (int key = 0; key < KEYS; key++) {
                peer.set(name(key), VALUE);
            }
            peer.get(name(KEYS - 1));
        }
        for (int round = 0; round < rounds; round++) {
            for (int at = 0; at < peers.size(); at++) {
                long millis = round(peers.get(at), callers, operations);
                System.out.println(names.get(at) + ", " + callers + " callers, " + operations
                        + " operations: " + millis + " ms");
            }
        }
        for (Peer peer : peers) {
            peer.close();
        }
    }

    private static long round(Peer peer, int callers, int operations) throws Exception {
        long begun = System.nanoTime();
        if (callers > 0) {
            blocking(peer, callers, operations / callers);
        } else {
            pipelined(((Stadium) peer).client(), operations);
        }
        return TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
    }

    private static int number(String[] arguments, int at, int standard) {
        return arguments.length > at ? Integer.parseInt(arguments[at]) : standard;
    }

    private static Peer peer(String name, String address) throws Exception {
        if (name.equals("stadium")) {
            return new Stadium(MemcacheClient.builder().servers(address)
                    .timeout(Duration.ofSeconds(10)).build());
        }
        XMemcachedClientBuilder builder =
                new XMemcachedClientBuilder(AddrUtil.getAddresses(address));
        builder.setConnectionPoolSize(1);
        builder.setOpTimeout(TimeUnit.SECONDS.toMillis(10));
        return new Xmemcached(builder.build());
    }

    private static String name(int key) {
        String digits = Integer.toString(key);
        return "key:" + "00000000".substring(digits.length()) + digits;
    }

    private static void blocking(Peer peer, int callers, int operations) throws Exception {
        List<Thread> threads = new ArrayList<>();
        List<Throwable> failures = new ArrayList<>();
        for (int caller = 0; caller < callers; caller++) {
            int first = caller * 7_919;
            threads.add(new Thread(() -> {
                try {
                    for (int round = 0; round < operations / 2; round++) {
                        int key = (first + round * 31) % KEYS;
                        peer.set(name(key), VALUE);
                        peer.get(name((key + KEYS / 2) % KEYS));
                    }
                } catch (Exception error) {
                    synchronized (failures) {
                        failures.add(error);
                    }
                }
            }));
        }
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        if (!failures.isEmpty()) {
            throw new IllegalStateException(failures.get(0));
        }
    }

    private static void pipelined(MemcacheClient client, int operations) {
        ArrayDeque<Pending<Value>> pending = new ArrayDeque<>();
        for (int round = 0; round < operations / 2; round++) {
            int key = (int) ((long) round * 31 % KEYS);
            client.set(name(key), VALUE, Expiry.NEVER).ignore();
            pending.add(client.fetch(name((key + KEYS / 2) % KEYS)));
            if (pending.size() >= 1_000) {
                check(pending.poll().await().bytes());
            }
        }
        pending.forEach(one -> check(one.await().bytes()));
    }
}
