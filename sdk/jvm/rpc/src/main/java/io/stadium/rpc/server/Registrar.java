package io.stadium.rpc.server;

import java.net.InetSocketAddress;
import java.time.Duration;

/**
 * Where a server registers its services, so that clients find them. docs/discovery.md has the
 * layout. Modules for etcd and ZooKeeper implement it.
 */
public interface Registrar {
    /**
     * An instance of a service.
     *
     * @param name the service's name
     * @param version its version
     * @param address where clients connect to, an IP address and a port
     * @param zone the zone it runs in, at most 64 bytes, or {@code null}
     * @param weight its share of the calls relative to other instances, 1 to 10,000
     */
    record Instance(
            String name, String version, InetSocketAddress address, String zone, int weight) {
        /**
         * The key of the instance below the root of the tree.
         *
         * @return {@code NAME/VERSION/HOST:PORT}, an IPv6 address in brackets
         */
        public String path() {
            String host = address.getAddress().getHostAddress();
            int scope = host.indexOf('%');
            if (scope >= 0) {
                host = host.substring(0, scope);
            }
            boolean isVersion6 = host.indexOf(':') >= 0;
            return name + '/' + version + '/'
                    + (isVersion6 ? "[" + compressed(host) + "]" : host) + ':' + address.getPort();
        }

        /**
         * The value of the entry.
         *
         * @param load the load factor: 0 idle, 1 fully loaded, more when overloaded
         * @param isQuiescing whether it leaves
         * @return a JSON object
         */
        public String value(float load, boolean isQuiescing) {
            StringBuilder json = new StringBuilder(96).append("{\"load\":").append(load);
            if (zone != null) {
                json.append(",\"zone\":\"");
                for (int nth = 0; nth < zone.length(); nth++) {
                    char one = zone.charAt(nth);
                    if (one == '"' || one == '\\') {
                        json.append('\\').append(one);
                    } else if (one < ' ') {
                        json.append(String.format("\\u%04x", (int) one));
                    } else {
                        json.append(one);
                    }
                }
                json.append('"');
            }
            return json.append(",\"weight\":").append(weight).append(",\"state\":\"")
                    .append(isQuiescing ? "quiescing" : "serving").append("\"}").toString();
        }

        /** The longest run of zero groups as {@code ::} (RFC 5952), as Rust writes addresses. */
        private static String compressed(String host) {
            String[] groups = host.split(":");
            int bestAt = -1;
            int best = 1;
            for (int at = 0; at < groups.length; at++) {
                int end = at;
                while (end < groups.length && groups[end].equals("0")) {
                    end++;
                }
                if (end - at > best) {
                    best = end - at;
                    bestAt = at;
                }
            }
            if (bestAt < 0) {
                return host;
            }
            return String.join(":", java.util.Arrays.copyOfRange(groups, 0, bestAt)) + "::"
                    + String.join(":",
                            java.util.Arrays.copyOfRange(groups, bestAt + best, groups.length));
        }
    }

    /**
     * Registers an instance and keeps it registered: it is written again after the backend was
     * away. It never waits for the backend.
     *
     * @param instance the instance
     * @return the registration
     */
    Registration register(Instance instance);

    /** An instance that is registered. Its methods may be called by any thread. */
    interface Registration {
        /**
         * Notes the load factor. It is written when it changed by more than 0.05, at most once a
         * second.
         *
         * @param load the load factor
         */
        void load(float load);

        /**
         * Writes that the instance quiesces, then removes its entry: clients drop it at once.
         *
         * @param within how long to wait for the backend
         * @return whether the backend has confirmed it. Otherwise the entry ends with its lease or
         *     session
         */
        boolean withdraw(Duration within);
    }
}
