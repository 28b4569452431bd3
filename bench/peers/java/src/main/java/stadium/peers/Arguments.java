// `--name value` pairs, and `--flag`s without a value.
package stadium.peers;

import java.net.InetSocketAddress;
import java.util.HashMap;
import java.util.Map;

final class Arguments {
    private final Map<String, String> values = new HashMap<>();

    Arguments(String[] words) {
        for (int at = 0; at < words.length; at++) {
            if (!words[at].startsWith("--")) {
                throw new IllegalArgumentException("not an option: " + words[at]);
            }
            boolean hasValue = at + 1 < words.length && !words[at + 1].startsWith("--");
            values.put(words[at].substring(2), hasValue ? words[++at] : "");
        }
    }

    boolean has(String name) {
        return values.containsKey(name);
    }

    String text(String name) {
        String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("--" + name + " is missing");
        }
        return value;
    }

    int integer(String name) {
        return Integer.parseInt(text(name));
    }

    int integer(String name, int otherwise) {
        return has(name) ? integer(name) : otherwise;
    }

    double number(String name) {
        return Double.parseDouble(text(name));
    }

    /** Prints that a server accepts at `--listen`; the orchestrator waits for it. */
    void listening() {
        System.out.println("listening " + text("listen"));
    }

    InetSocketAddress address(String name) {
        String value = text(name);
        int colon = value.lastIndexOf(':');
        return new InetSocketAddress(value.substring(0, colon), Integer.parseInt(value.substring(colon + 1)));
    }
}
