// Starts one client of `cargo xtask bench memcache`: `CLIENT --connect HOST:PORT`, cells on stdin.
package stadium.peers;

import java.util.Arrays;

public final class MemcacheMain {
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 0) {
            throw new IllegalArgumentException("a client is needed, for example xmemcached");
        }
        Arguments rest = new Arguments(Arrays.copyOfRange(arguments, 1, arguments.length));
        MemcacheCalls client =
                switch (arguments[0]) {
                    case "stadium" -> new MemcacheStadium(rest.text("connect"));
                    case "xmemcached" -> new MemcacheXmemcached(rest.address("connect"));
                    case "folsom" -> new MemcacheFolsom(rest.address("connect"));
                    case "spymemcached" -> new MemcacheSpymemcached(rest.address("connect"));
                    default -> throw new IllegalArgumentException("no such client: " + arguments[0]);
                };
        MemcacheLoad.run(client);
        // Clients have threads of their own.
        System.exit(0);
    }

    private MemcacheMain() {}
}
