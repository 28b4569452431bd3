package io.stadium.api;

import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Makes the blocking form of a class whose methods return futures. Each method waits for the future
 * of the other class.
 */
final class BlockingForms {
    /** The classes that have a blocking form: {@code AsyncQueue} has {@code Queue}. */
    static final List<String> NAMES = List.of("Queue", "Wallets", "Pushes", "Devices");

    private static final Pattern METHOD = Pattern.compile(
            "(    /\\*\\*\n(?:     \\*[^\n]*\n)+?     \\*/\n)"
                    + "    public ([^(=]+?) (\\w+)\\(([^{]*?)\\) \\{\n",
            Pattern.DOTALL);

    private static final String MORE_DOCS = """
             *
             * <p>The methods wait for their answer, and throw an
             * {@link io.stadium.rpc.RpcException} where there is none. {@link #async} has the same
             * ones with futures.
             */
            """;

    private static final String HEAD = """
            public final class NAME {
                private final AsyncNAME async;

                NAME(AsyncNAME async) {
                    this.async = async;
                }

                /**
                 * The same with futures.
                 *
                 * @return the methods that do not wait
                 */
                public AsyncNAME async() {
                    return async;
                }
            """;

    private static final String TAIL = """

                private <T> T waited(CompletableFuture<T> answer) {
                    return async.calls().client().await(answer);
                }
            }
            """;

    private BlockingForms() {}

    static String of(String name, String source) {
        String async = "Async" + name;
        StringBuilder methods = new StringBuilder();
        Matcher method = METHOD.matcher(source);
        while (method.find()) {
            methods.append(method(method));
        }
        String docs = source.substring(
                source.indexOf("/**\n"), source.indexOf("public final class"));
        String body = docs.replace(" */\n", MORE_DOCS)
                + HEAD.replace("NAME", name) + methods + TAIL;
        return "// Made of " + async + ".java by BlockingForms: change that file.\n"
                + "package io.stadium.api;\n\n" + imports(source, body) + "\n" + body;
    }

    private static String method(Matcher method) {
        String docs = method.group(1);
        String type = method.group(2);
        String called = method.group(3);
        String parameters = method.group(4);
        String call = "async." + called + "(" + names(parameters) + ")";
        String statement = "return waited(" + call + ");";
        if (type.equals("CompletableFuture<Void>")) {
            type = "void";
            docs = docs.replaceAll("     \\* @return [^@]*?(?=     \\*/)", "")
                    .replaceAll("     \\*\n     \\*/", "     */");
            statement = "waited(" + call + ");";
        } else if (type.startsWith("CompletableFuture<")) {
            type = unboxed(type.substring("CompletableFuture<".length(), type.length() - 1));
        } else if (type.startsWith("Flow.Publisher<")) {
            type = type.replace("Flow.Publisher", "RpcStream");
            docs = docs.replaceAll("@return [^@]*?(?=     \\*/)",
                    "@return the entries, which their reader closes\n");
            statement = "return async." + called + "Stream(" + names(parameters) + ");";
        } else {
            statement = "return " + call + ";";
        }
        return "\n" + docs + "    public " + type + " " + called + "(" + parameters + ") {\n"
                + "        " + statement + "\n    }\n";
    }

    private static String unboxed(String type) {
        return type.equals("Boolean") ? "boolean" : type.equals("Long") ? "long" : type;
    }

    /** The names of parameters. */
    private static String names(String parameters) {
        return String.join(", ", Pattern.compile("(\\w+)(?=,|$)").matcher(parameters.strip())
                .results().map(name -> name.group(1)).filter(name -> !name.equals("String")
                        && Character.isLowerCase(name.charAt(0))).toList());
    }

    /** The imports that the text uses. */
    private static String imports(String source, String body) {
        return Pattern.compile("import [\\w.]+\\.(\\w+);\n").matcher(
                source + "import io.stadium.rpc.client.RpcStream;\n").results()
                .filter(one -> Pattern.compile("(?<![.\\w])" + one.group(1) + "\\b")
                        .matcher(body).find())
                .map(one -> one.group()).distinct().sorted().reduce("", String::concat);
    }
}
