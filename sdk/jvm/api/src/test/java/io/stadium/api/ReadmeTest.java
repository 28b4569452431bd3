package io.stadium.api;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The samples of README.md compile, run, and print what their comments name. */
@Timeout(180)
class ReadmeTest {
    private static final Pattern SAMPLE =
            Pattern.compile("```java\n(.*?public class (\\w+).*?)```", Pattern.DOTALL);

    @TempDir
    Path folder;

    @Test
    void theSamplesOfTheReadmeRun() throws Exception {
        Map<String, String> samples = samples();
        compile(samples);
        TestServer server = TestServer.shared();
        String key = server.adminKey().toString();
        try (Stadium stadium = server.connect()) {
            stadium.wallets().declare("COIN", 2);
        }
        for (String name : List.of("Jobs", "Books", "News", "Futures", "Proof")) {
            String[] arguments = name.equals("Proof")
                    ? new String[] {"src/test/resources/receipt.json", keptRoot()}
                    : new String[] {server.address(), key};
            assertEquals(printed(samples.get(name)), run(name, arguments), name);
            samples.remove(name);
        }
        worker(samples.remove("Thumbnails"), server, key);
        assertEquals(Map.of(), samples, "every sample is run");
    }

    /** The worker does a job, and ends on SIGTERM. */
    private void worker(String sample, TestServer server, String key) throws Exception {
        assertTrue(sample.strip().lines().count() < 20, "the worker is short");
        Process worker = Soon.java(
                Soon.javaHome(), folder.toString(), "Thumbnails", server.address(), key);
        try (BufferedReader out = worker.inputReader(); Stadium stadium = server.connect()) {
            Queue queue = stadium.queue("thumbnails");
            queue.put("cat.jpg");
            assertEquals("made cat.jpg", out.readLine());
            Soon.until("the job is settled", () -> queue.stats().getSettled() == 1);
            worker.destroy();
            assertTrue(worker.waitFor(Soon.SECONDS, TimeUnit.SECONDS), "it goes on");
        } finally {
            worker.destroyForcibly().waitFor();
        }
    }

    private static Map<String, String> samples() throws Exception {
        Matcher sample = SAMPLE.matcher(
                Files.readString(Path.of(System.getProperty("stadium.readme"))));
        Map<String, String> samples = new LinkedHashMap<>();
        while (sample.find()) {
            samples.put(sample.group(2), sample.group(1));
        }
        return samples;
    }

    private void compile(Map<String, String> samples) throws Exception {
        List<String> command = new ArrayList<>(List.of("-proc:none", "-Xlint:all,-path,-classfile",
                "-Werror", "-cp", Soon.classPath(), "-d", folder.toString()));
        for (Map.Entry<String, String> sample : samples.entrySet()) {
            Path source = folder.resolve(sample.getKey() + ".java");
            command.add(Files.writeString(source, sample.getValue()).toString());
        }
        int result = ToolProvider.getSystemJavaCompiler()
                .run(null, System.err, System.err, command.toArray(String[]::new));
        assertEquals(0, result, "a sample does not compile");
    }

    private static String printed(String sample) {
        StringBuilder printed = new StringBuilder();
        Matcher line = Pattern.compile("// prints: (.*)").matcher(sample);
        while (line.find()) {
            printed.append(line.group(1)).append('\n');
        }
        assertFalse(printed.isEmpty());
        return printed.toString();
    }

    private String run(String name, String... arguments) throws Exception {
        PrintStream console = System.out;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (URLClassLoader loader = new URLClassLoader(
                new URL[] {folder.toUri().toURL()}, ReadmeTest.class.getClassLoader())) {
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            loader.loadClass(name).getMethod("main", String[].class)
                    .invoke(null, (Object) arguments);
        } finally {
            System.setOut(console);
        }
        return out.toString(StandardCharsets.UTF_8);
    }

    private static String keptRoot() throws Exception {
        Matcher root = Pattern.compile("\"root\":\"(\\w+)\"")
                .matcher(Files.readString(Path.of("src/test/resources/receipt.json")));
        assertTrue(root.find());
        return root.group(1);
    }
}
