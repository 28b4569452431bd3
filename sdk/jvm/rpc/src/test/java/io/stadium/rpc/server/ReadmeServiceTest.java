package io.stadium.rpc.server;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.StringValue;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.netty.EventLoops;
import io.stadium.rsocket.netty.RSocketClient;
import java.io.BufferedReader;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The service of README.md compiles, answers, and ends on SIGTERM. */
@Timeout(300)
class ReadmeServiceTest {
    @Test
    void theServiceOfTheReadmeRuns(@TempDir Path folder) throws Exception {
        String readme = Files.readString(Path.of(System.getProperty("stadium.readme",
                "README.md")));
        Matcher sample = Pattern.compile("## A service\n.*?```java\n(.*?)```", Pattern.DOTALL)
                .matcher(readme);
        assertTrue(sample.find(), "README.md has no service");
        Path source = Files.writeString(folder.resolve("Greeter.java"), sample.group(1));
        String path = System.getProperty("surefire.test.class.path",
                System.getProperty("java.class.path"));
        int result = ToolProvider.getSystemJavaCompiler()
                .run(null, System.err, System.err, "-proc:none", "-cp", path, "-d",
                        folder.toString(), source.toString());
        assertEquals(0, result, "the service does not compile");
        Process greeter = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m",
                "-XX:TieredStopAtLevel=1", "-cp", folder + java.io.File.pathSeparator + path,
                "Greeter").redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (BufferedReader out = greeter.inputReader(); EventLoops loops = EventLoops.start(1)) {
            String line = out.readLine();
            int port = Integer.parseInt(line.substring(line.lastIndexOf(':') + 1));
            byte[] answer = new RSocketClient(loops)
                    .connect(new InetSocketAddress("127.0.0.1", port)).get()
                    .requestResponse(Caller.metadata("greeter/Hello", 60_000),
                            StringValue.of("Ada").toByteArray())
                    .get(Caller.SOON_S, TimeUnit.SECONDS);
            assertEquals("Hello, Ada", StringValue.parseFrom(
                    ByteBufUtil.getBytes(Unpooled.wrappedBuffer(answer))).getValue());
            greeter.destroy();
            assertTrue(greeter.waitFor(Caller.SOON_S, TimeUnit.SECONDS), "it goes on");
        } finally {
            greeter.destroyForcibly().waitFor();
        }
    }
}
