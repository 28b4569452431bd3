package io.stadium.memcache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The samples of README.md compile, run, and print what their comments name. */
@Timeout(60)
class ReadmeTest {
    private static final Pattern SAMPLE =
            Pattern.compile("```java\n(.*?public class (\\w+).*?)```", Pattern.DOTALL);

    @TempDir
    Path folder;

    @Test
    void theSamplesOfTheReadmeRun() throws Exception {
        Map<String, String> samples = samples();
        assertTrue(samples.size() >= 3, samples.keySet().toString());
        compile(samples);
        String udp = Integer.toString(Memcached.freePort());
        try (Memcached server = Memcached.tcp("-U", udp)) {
            for (Map.Entry<String, String> sample : samples.entrySet()) {
                assertEquals(printed(sample.getValue()), run(sample.getKey(), server.address, udp),
                        sample.getKey());
            }
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
        List<String> command = new ArrayList<>(List.of("-proc:none", "-Xlint:all,-path", "-Werror",
                "-cp", System.getProperty("surefire.test.class.path",
                        System.getProperty("java.class.path")), "-d", folder.toString()));
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
}
