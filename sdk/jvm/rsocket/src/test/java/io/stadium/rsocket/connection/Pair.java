package io.stadium.rsocket.connection;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.stadium.rsocket.frame.Interaction;
import java.nio.charset.StandardCharsets;
import java.util.List;

/** A client and a server that are set up, and the bytes between them. */
final class Pair {
    final Recorder clientEvents = new Recorder();
    final Recorder serverEvents = new Recorder();

    /** What the client sends. */
    final ByteBuf up;

    /** What the server sends. */
    final ByteBuf down;

    final Connection client;
    final Connection server;
    long nowMs;

    Pair(Config config) {
        this(config, config);
    }

    Pair(Config clientConfig, Config serverConfig) {
        this(clientConfig, serverConfig, UnpooledByteBufAllocator.DEFAULT);
    }

    Pair(Config clientConfig, Config serverConfig, ByteBufAllocator allocator) {
        up = allocator.buffer();
        down = allocator.buffer();
        client = Connection.client(clientConfig, SetupOptions.DEFAULT, allocator, clientEvents, 0,
                up);
        server = Connection.server(serverConfig, allocator, serverEvents, 0);
        server.receive(0, up, down);
        assertEquals(List.of("setup"), serverEvents.take());
        server.accept();
        up.clear();
    }

    int request(Interaction interaction, int n, Completion completion, String data) {
        return client.request(interaction, n, completion, null, null, bytes(data),
                PayloadWriter.BUFFER, up);
    }

    SendResult answer(int streamId, Completion completion, String data) {
        return server.payload(streamId, completion, null, bytes(data), PayloadWriter.BUFFER, down);
    }

    SendResult send(int streamId, Completion completion, String data) {
        return client.payload(streamId, completion, null, bytes(data), PayloadWriter.BUFFER, up);
    }

    /** The server receives what the client sent; returns its events. */
    List<String> up() {
        server.receive(nowMs, up, down);
        up.clear();
        return serverEvents.take();
    }

    /** The client receives what the server sent; returns its events. */
    List<String> down() {
        client.receive(nowMs, down, up);
        down.clear();
        return clientEvents.take();
    }

    void release() {
        client.release();
        server.release();
        up.release();
        down.release();
    }

    static ByteBuf bytes(String data) {
        return Unpooled.copiedBuffer(data, StandardCharsets.UTF_8);
    }
}
