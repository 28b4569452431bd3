package io.stadium.memcache.driver;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;

/** TCP and Unix sockets. */
final class PlainTransport implements Transport {
    private final SocketChannel channel;
    private final Selector selector;
    private final SelectionKey key;

    /** Takes a connected channel, which is non-blocking from now on. */
    PlainTransport(SocketChannel channel) throws IOException {
        this.channel = channel;
        channel.configureBlocking(false);
        selector = channel.provider().openSelector();
        key = channel.register(selector, SelectionKey.OP_READ);
    }

    @Override
    public int read(ByteBuffer target) throws IOException {
        return channel.read(target);
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        return channel.write(source);
    }

    @Override
    public boolean unflushed() {
        return false;
    }

    @Override
    public void await(boolean alsoWritable, long nanos) throws IOException {
        int interest = alsoWritable
                ? SelectionKey.OP_READ | SelectionKey.OP_WRITE : SelectionKey.OP_READ;
        try {
            if (key.interestOps() != interest) {
                key.interestOps(interest);
            }
            // Rounded up: a wait of 0 has no end.
            long millis = TimeUnit.NANOSECONDS.toMillis(nanos) + 1;
            selector.select(one -> { }, millis);
        } catch (ClosedSelectorException | java.nio.channels.CancelledKeyException error) {
            throw new IOException("the connection is closed", error);
        }
    }

    @Override
    public void wakeUp() {
        selector.wakeup();
    }

    @Override
    public void close() {
        try {
            channel.close();
            selector.close();
        } catch (IOException ignored) {
            // It is gone in any case.
        }
    }
}
