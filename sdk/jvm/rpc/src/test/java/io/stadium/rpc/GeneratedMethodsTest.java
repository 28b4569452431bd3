package io.stadium.rpc;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Message;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.frame.Interaction;
import java.io.File;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Compiles what protoc-gen-stadium generates, and uses it.
 *
 * <p>STADIUM_PROTOC_GEN names the plugin; the profile {@code interop} fails without it. The
 * contracts are that of examples/geo, and those of the generator's own tests, which have
 * everything that is hard to write in a language.
 */
@Timeout(300)
class GeneratedMethodsTest {
    private static final List<String> CONTRACTS =
            List.of(
                    "geo.proto",
                    "desk/v1beta1/order-desk.proto",
                    "plain.proto",
                    "desk/parts/parts.proto",
                    "other/parts.proto",
                    "import/lambda.proto",
                    "stadium/rpc/v1/options.proto");

    @TempDir
    Path folder;

    @Test
    void generatedMethodsCompileAndAreThoseOfTheContract() throws Exception {
        String plugin = System.getenv("STADIUM_PROTOC_GEN");
        if (Boolean.getBoolean("stadium.interop")) {
            assertNotNull(plugin, "STADIUM_PROTOC_GEN must name protoc-gen-stadium");
        }
        assumeTrue(plugin != null);
        Path sources = Files.createDirectory(folder.resolve("sources"));
        generate(plugin, sources);
        Path classes = Files.createDirectory(folder.resolve("classes"));
        compile(sources, classes);
        URL[] path = {classes.toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(path, getClass().getClassLoader())) {
            geo(loader);
            desk(loader);
            method(loader, "desk.plain.PlainMethods", "GET");
            method(loader, "desk.lambda.LambdaMethods", "RUN");
        }
    }

    private static void geo(ClassLoader loader) throws Exception {
        assertEquals("geo", field(loader, "geo.v1.GeoMethods", "NAME"));
        assertEquals("1", field(loader, "geo.v1.GeoMethods", "VERSION"));
        Method<Message, Message> store = method(loader, "geo.v1.GeoMethods", "STORE");
        assertEquals("geo/Store", store.route());
        assertEquals(Interaction.REQUEST_RESPONSE, store.interaction());
        assertTrue(store.isIdempotent());
        // The codec is that of the request: a device id is field 1 of an event.
        byte[] bytes = {10, 2, 'p', '1'};
        Message event = store.requests().read(Unpooled.wrappedBuffer(bytes));
        assertEquals("geo.v1.GeoEvent", event.getDescriptorForType().getFullName());
        ByteBuf out = Unpooled.buffer();
        store.requests().write(event, out);
        assertEquals(Unpooled.wrappedBuffer(bytes), out);
        assertEquals(
                Interaction.REQUEST_STREAM, method(loader, "geo.v1.GeoMethods", "NEAR").interaction());
    }

    private static void desk(ClassLoader loader) throws Exception {
        String desk = "desk.orders.OrderDeskMethods";
        assertEquals("1beta1", field(loader, desk, "VERSION"));
        assertEquals("order_desk/Version", method(loader, desk, "VERSION_").route());
        assertFalse(method(loader, desk, "DELETE").isIdempotent());
        Method<Message, Message> ring = method(loader, desk, "RING");
        assertEquals(Interaction.FIRE_AND_FORGET, ring.interaction());
        assertNull(ring.answers());
        assertEquals(Interaction.REQUEST_CHANNEL, method(loader, desk, "HTTP_COUNT2").interaction());
        Message amount =
                method(loader, desk, "ERRNO").answers().read(Unpooled.EMPTY_BUFFER);
        assertEquals("other.Amount", amount.getDescriptorForType().getFullName());

        Object encoded = loader.loadClass(desk).getMethod("fileDescriptorSet").invoke(null);
        FileDescriptorSet set = FileDescriptorSet.parseFrom(assertInstanceOf(byte[].class, encoded));
        List<String> names = set.getFileList().stream().map(FileDescriptorProto::getName).toList();
        assertEquals("desk/v1beta1/order-desk.proto", names.get(names.size() - 1));
        assertTrue(names.contains("google/protobuf/timestamp.proto"));
    }

    private static Object field(ClassLoader loader, String type, String name) throws Exception {
        return loader.loadClass(type).getField(name).get(null);
    }

    @SuppressWarnings("unchecked")
    private static Method<Message, Message> method(ClassLoader loader, String type, String name)
            throws Exception {
        return (Method<Message, Message>) field(loader, type, name);
    }

    private static void generate(String plugin, Path out) throws Exception {
        Path root = Path.of(System.getProperty("stadium.vectors")).resolve("../..").normalize();
        List<String> command = new ArrayList<>(List.of("protoc", "--plugin=" + plugin));
        command.add("--java_out=" + out);
        command.add("--stadium_out=java:" + out);
        command.add("-I" + root.resolve("crates/protoc-gen-stadium/tests/proto"));
        command.add("-I" + root.resolve("examples/geo/proto"));
        command.add("-I" + root.resolve("proto"));
        command.addAll(CONTRACTS);
        Process protoc = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(protoc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, protoc.waitFor(), said);
    }

    /** Compiles everything, generated methods without a warning. */
    private static void compile(Path sources, Path classes) throws Exception {
        List<Path> methods;
        List<Path> messages;
        try (Stream<Path> files = Files.walk(sources)) {
            List<Path> java = files.filter(file -> file.toString().endsWith(".java")).toList();
            methods = java.stream().filter(GeneratedMethodsTest::hasMethods).toList();
            messages = java.stream().filter(file -> !hasMethods(file)).toList();
        }
        String path = System.getProperty("java.class.path");
        javac(messages, List.of("-d", classes.toString(), "-cp", path, "-nowarn", "-Xlint:none"));
        String both = classes + File.pathSeparator + path;
        javac(
                methods,
                List.of("-d", classes.toString(), "-cp", both, "-Xlint:all,-path", "-Xdoclint:all/protected",
                        "-Werror"));
    }

    private static boolean hasMethods(Path file) {
        return file.toString().endsWith("Methods.java");
    }

    private static void javac(List<Path> files, List<String> options) throws Exception {
        assertFalse(files.isEmpty());
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StringWriter said = new StringWriter();
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
            boolean compiled =
                    compiler.getTask(said, manager, null, options, null,
                            manager.getJavaFileObjectsFromPaths(files)).call();
            assertTrue(compiled, said::toString);
        }
    }
}
