package io.stadium.rsocket;

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

/** The sample of README.md compiles and runs. */
@Timeout(120)
class ReadmeTest {
    @Test
    void theSampleOfTheReadmeRuns(@TempDir Path folder) throws Exception {
        String readme = Files.readString(Path.of(System.getProperty("stadium.readme",
                "../README.md")));
        Matcher sample = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(readme);
        assertTrue(sample.find(), "README.md has no sample");
        Path source = folder.resolve("Hello.java");
        Files.writeString(source, sample.group(1));
        String path = System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path"));
        int result = ToolProvider.getSystemJavaCompiler()
                .run(null, System.err, System.err, "-cp", path, "-d", folder.toString(),
                        source.toString());
        assertEquals(0, result, "the sample does not compile");
        PrintStream console = System.out;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (URLClassLoader loader = new URLClassLoader(
                new URL[] {folder.toUri().toURL()}, ReadmeTest.class.getClassLoader())) {
            System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
            loader.loadClass("Hello").getMethod("main", String[].class).invoke(null,
                    (Object) new String[0]);
        } finally {
            System.setOut(console);
        }
        assertEquals("Hello, stadium\n", out.toString(StandardCharsets.UTF_8));
    }
}
