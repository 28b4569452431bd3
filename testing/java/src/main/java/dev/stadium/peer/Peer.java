package dev.stadium.peer;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The rsocket-java side of the interoperability suites.
 *
 * <pre>
 * Peer server [fragment=BYTES] [lease=TTL_MS,REQUESTS] [resume=MS] [transport=tcp|ws]
 * Peer client ADDRESS CASE[,CASE...] [fragment=BYTES] [transport=tcp|ws] [pid=PEER]
 * </pre>
 *
 * A server prints "listening ADDRESS" and ends when its standard input does. A client prints "ok CASE" or
 * "FAILED CASE: why" for each case. The routes and cases are listed in testing/README.md.
 */
public final class Peer {
    public static void main(String[] arguments) throws Exception {
        String role = arguments.length == 0 ? "" : arguments[0];
        int exit = switch (role) {
            case "server" -> Server.run(options(arguments, 1));
            case "client" -> Client.run(arguments[1], arguments[2].split(","), options(arguments, 3));
            default -> {
                System.err.println("usage: Peer server|client, see the source");
                yield 2;
            }
        };
        System.exit(exit);
    }

    private static Map<String, String> options(String[] arguments, int from) {
        Map<String, String> options = new HashMap<>();
        for (String each : Arrays.copyOfRange(arguments, from, arguments.length)) {
            String[] parts = each.split("=", 2);
            options.put(parts[0], parts[1]);
        }
        return options;
    }

    private Peer() {}
}
