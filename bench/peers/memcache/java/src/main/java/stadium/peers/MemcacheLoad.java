// The load of `cargo xtask bench memcache` for clients on the JVM: the cells that stdin names, the keys, and the check of
// every value. It does the same work with the same keys as bench/peers/memcache/rust/src/load.rs.
package stadium.peers;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.FutureTask;
import java.util.function.Supplier;

final class MemcacheLoad {
    private static final int KEYS = 10_000;
    private static final int VALUE_BYTES = 100;

    private final MemcacheCalls client;
    private final String[] names = new String[KEYS];
    private final byte[][] values = new byte[KEYS][VALUE_BYTES];

    private MemcacheLoad(MemcacheCalls client) {
        this.client = client;
        for (int key = 0; key < KEYS; key++) {
            names[key] = String.format(Locale.ROOT, "key:%08d", key);
            byte[] name = names[key].getBytes(StandardCharsets.US_ASCII);
            for (int at = 0; at < VALUE_BYTES; at++) {
                values[key][at] = name[at % name.length];
            }
        }
    }

    /** Runs the cell of each line of stdin, and prints the outcome as a line of JSON. */
    static void run(MemcacheCalls client) throws Exception {
        MemcacheLoad load = new MemcacheLoad(client);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Arguments cell = new Arguments(line.trim().split("\\s+"));
            int callers = cell.integer("callers", 1);
            int each = cell.integer("operations") / 2 / callers;
            long begun = System.nanoTime();
            int hits =
                    cell.has("inflight")
                            ? load.pipelined(each, cell.integer("inflight") / 2)
                            : load.callers(callers, each);
            double seconds = (System.nanoTime() - begun) / 1e9;
            int gets = callers * each;
            System.out.printf(
                    Locale.ROOT,
                    "{\"seconds\":%.9f,\"sets\":%d,\"gets\":%d,\"hits\":%d}%n",
                    seconds,
                    gets,
                    gets,
                    hits);
        }
    }

    /** The gets of all callers that had their key's value. */
    private int callers(int callers, int gets) throws Exception {
        List<FutureTask<Integer>> tasks = new ArrayList<>();
        for (int caller = 0; caller < callers; caller++) {
            int number = caller;
            FutureTask<Integer> task = new FutureTask<>(() -> blocking(number, gets));
            tasks.add(task);
            new Thread(task, "caller-" + caller).start();
        }
        int hits = 0;
        for (FutureTask<Integer> task : tasks) {
            hits += task.get();
        }
        return hits;
    }

    private int blocking(int caller, int gets) throws Exception {
        int hits = 0;
        for (int round = 0; round < gets; round++) {
            int stored = stored(caller, round);
            client.set(names[stored], values[stored]);
            int read = (stored + KEYS / 2) % KEYS;
            hits += Arrays.equals(client.get(names[read]), values[read]) ? 1 : 0;
        }
        return hits;
    }

    private int pipelined(int gets, int inflight) throws Exception {
        ArrayDeque<Supplier<byte[]>> pending = new ArrayDeque<>(inflight);
        int hits = 0;
        for (int round = 0; round < gets + inflight; round++) {
            if (round >= inflight) {
                int read = (stored(0, round - inflight) + KEYS / 2) % KEYS;
                hits += Arrays.equals(pending.remove().get(), values[read]) ? 1 : 0;
            }
            if (round < gets) {
                int stored = stored(0, round);
                client.set(names[stored], values[stored]);
                pending.add(client.fetch(names[(stored + KEYS / 2) % KEYS]));
            }
        }
        return hits;
    }

    /** The key that a caller stores in a round. */
    private static int stored(int caller, int round) {
        return (int) ((caller * 7_919L + round * 31L) % KEYS);
    }
}
