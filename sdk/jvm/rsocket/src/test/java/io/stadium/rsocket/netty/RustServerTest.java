package io.stadium.rsocket.netty;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.metadata.Routing;
import java.io.BufferedReader;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Calls the Rust server of crates/rpc/examples/echo_server.rs. STADIUM_ECHO_SERVER names its
 * binary; the profile {@code interop} fails without it.
 */
@Timeout(120)
class RustServerTest {
    @Test
    void theRustServerAnswers() throws Exception {
        String binary = System.getenv("STADIUM_ECHO_SERVER");
        if (Boolean.getBoolean("stadium.interop")) {
            assertNotNull(binary, "STADIUM_ECHO_SERVER must name the Rust server");
        }
        assumeTrue(binary != null);
        Process server =
                new ProcessBuilder(binary).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (EventLoops loops = EventLoops.start(1); BufferedReader out = server.inputReader()) {
            String[] words = out.readLine().split(" ");
            int port = Integer.parseInt(words[1].substring(words[1].lastIndexOf(':') + 1));
            RSocket rsocket =
                    new RSocketClient(loops).connect(new InetSocketAddress("127.0.0.1",
                            port)).get();
            calls(rsocket);
        } finally {
            server.destroy();
            server.waitFor(10, TimeUnit.SECONDS);
        }
    }

    private static void calls(RSocket rsocket) throws Exception {
        byte[] route = route("echo/Echo");
        // 2 elements are 48 bytes, 10,000 travel in fragments both ways.
        int[] sizes = {0, 2, 200, 10_000};
        for (int batch = 0; batch < 50; batch++) {
            List<CompletableFuture<byte[]>> answers = new ArrayList<>();
            for (int nth = 0; nth < sizes.length; nth++) {
                answers.add(call(rsocket, route, sample(batch + 1, sizes[nth])));
            }
            for (int nth = 0; nth < sizes.length; nth++) {
                assertArrayEquals(sample(batch + 1, sizes[nth]), answers.get(nth).get());
            }
        }
        ExecutionException e = assertThrows(
                ExecutionException.class, () -> rsocket.requestResponse(route("no/Such"),
                new byte[0]).get());
        assertEquals(ErrorCode.INVALID, assertInstanceOf(RSocketException.class,
                e.getCause()).code());
    }

    /** Calls again while the server is busy, as the machine of a test may be. */
    private static CompletableFuture<byte[]> call(RSocket rsocket, byte[] route, byte[] message) {
        return rsocket.requestResponse(route, message).exceptionallyCompose(failed -> {
            Throwable cause = failed instanceof CompletionException ? failed.getCause() : failed;
            boolean isBusy = cause instanceof RSocketException e && e.code() == ErrorCode.REJECTED
                    && rsocket.channel().isActive();
            return isBusy ? call(rsocket, route, message) : CompletableFuture.failedFuture(cause);
        });
    }

    private static byte[] route(String route) {
        ByteBuf metadata = Unpooled.buffer();
        Routing.write(metadata, route);
        return ByteBufUtil.getBytes(metadata);
    }

    /** The message of crates/rpc/examples/sample in Protocol Buffers. */
    private static byte[] sample(long id, int elements) {
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
