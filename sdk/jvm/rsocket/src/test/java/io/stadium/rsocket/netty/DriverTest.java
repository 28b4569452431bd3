package io.stadium.rsocket.netty;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.buffer.ByteBuf;
import io.netty.channel.embedded.EmbeddedChannel;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.SetupOptions;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A driver without a socket: what it sends while a batch of reads is not over. */
class DriverTest {
    private static final int CALLS = 40;
    private static final int BYTES = 4_000;

    @Test
    void aFullBufferIsSentBeforeTheBatchIsOver() {
        Driver driver = driver(SetupOptions.DEFAULT);
        EmbeddedChannel client = new EmbeddedChannel(driver);
        EmbeddedChannel server = new EmbeddedChannel(driver(null));
        for (int nth = 0; nth < CALLS; nth++) {
            CompletableFuture<byte[]> answer =
                    driver.rsocket.requestResponse(null, new byte[BYTES]);
            assertFalse(answer.isCompletedExceptionally());
        }
        client.runPendingTasks();
        for (ByteBuf out = client.readOutbound(); out != null; out = client.readOutbound()) {
            server.pipeline().fireChannelRead(out.copy());
            out.release();
        }
        int sent = readable(server);
        assertTrue(sent >= CALLS * BYTES / 2, sent + " bytes are sent");
        assertTrue(sent < CALLS * BYTES, "the last buffer is not full");
        server.pipeline().fireChannelReadComplete();
        sent += readable(server);
        assertTrue(sent > CALLS * BYTES, sent + " bytes in all");
        assertEquals(0, readable(server));
        client.finishAndReleaseAll();
        server.finishAndReleaseAll();
    }

    private static Driver driver(SetupOptions setup) {
        return new Driver(Config.DEFAULT, setup, TransportOptions.DEFAULT, new Echoes());
    }

    private static int readable(EmbeddedChannel channel) {
        int bytes = 0;
        for (ByteBuf out = channel.readOutbound(); out != null; out = channel.readOutbound()) {
            bytes += out.readableBytes();
            out.release();
        }
        return bytes;
    }
}
