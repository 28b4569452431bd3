package io.stadium.rpc.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The sample of a caller in README.md compiles and runs. */
@Timeout(60)
class ReadmeTest {
    @Test
    void theCallerOfTheReadmeRuns(@TempDir Path folder) throws Exception {
        String readme = Files.readString(Path.of("README.md"));
        Matcher sample = Pattern.compile("## A caller\n.*?```java\n(.*?)```", Pattern.DOTALL)
                .matcher(readme);
        assertTrue(sample.find(), "README.md has no sample of a caller");
        assertTrue(sample.group(1).lines().count() < 30, "the sample is short");
        Path source = folder.resolve("Hello.java");
        Files.writeString(source, sample.group(1));
        String path = System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path"));
        int result = ToolProvider.getSystemJavaCompiler()
                .run(null, System.err, System.err, "-proc:none", "-cp", path, "-d",
                        folder.toString(), source.toString());
        assertEquals(0, result, "the sample does not compile");
        PrintStream console = System.out;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (Peer peer = new Peer(); URLClassLoader loader = new URLClassLoader(
                new URL[] {folder.toUri().toURL()}, ReadmeTest.class.getClassLoader())) {
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            loader.loadClass("Hello").getMethod("main", String[].class).invoke(null,
                    (Object) new String[] {peer.address()});
        } finally {
            System.setOut(console);
        }
        assertEquals("Hello, stadium\n", out.toString(StandardCharsets.UTF_8));
    }
}
