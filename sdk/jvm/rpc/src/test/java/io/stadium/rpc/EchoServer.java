package io.stadium.rpc;


import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.io.BufferedReader;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The Rust server of crates/rpc/examples/echo_server.rs as a process. STADIUM_ECHO_SERVER names its
 * binary; the profile {@code interop} fails without it.
 */
public final class EchoServer implements AutoCloseable {
    /** Its only method. */
    public static final Method<byte[], byte[]> ECHO =
            Method.unary("echo/Echo", Codec.BYTES, Codec.BYTES);

    private final Process process;
    private final String address;

    private EchoServer(Process process, String address) {
        this.process = process;
        this.address = address;
    }

    /** Starts a server on a port that the kernel chooses, or skips the test. */
    public static EchoServer start(String... arguments) throws IOException {
        return start(List.of(), Programs.named("STADIUM_ECHO_SERVER"), arguments);
    }

    /** Starts a server by another command, such as taskset. */
    public static EchoServer start(List<String> prefix, String binary, String... arguments)
            throws IOException {
        List<String> command = new ArrayList<>(prefix);
        command.add(binary);
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        BufferedReader out = process.inputReader();
        String line = out.readLine();
        if (line == null) {
            process.destroyForcibly();
            throw new IOException("the server has not started");
        }
        String listening = line.split(" ")[1];
        return new EchoServer(process, listening.substring(listening.indexOf("127.")));
    }

    /** {@code HOST:PORT}. */
    public String address() {
        return address;
    }

    /** Ends the process at once, without a farewell. */
    public void kill() throws InterruptedException {
        process.destroyForcibly();
        process.waitFor(10, TimeUnit.SECONDS);
    }

    /** Stops the process, or lets it go on. */
    public void signal(String name) throws IOException, InterruptedException {
        new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }

    /**
     * The message of crates/rpc/examples/sample in Protocol Buffers: 16 bytes, and 16 for each
     * element.
     */
    public static byte[] sample(long id, int elements) {
        ByteBuf out = Unpooled.buffer();
        out.writeByte(1 << 3 | 1).writeLongLE(id);
        for (int nth = 1; nth <= elements; nth++) {
            out.writeByte(2 << 3 | 2).writeByte(14);
            out.writeByte(1 << 3 | 1).writeLongLE(id * nth).writeByte(2 << 3 | 5).writeIntLE(nth);
        }
        out.writeByte(3 << 3 | 5).writeIntLE(7).writeByte(4 << 3).writeByte(1);
        return ByteBufUtil.getBytes(out);
    }
}
