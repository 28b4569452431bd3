package io.stadium.rsocket.netty;

import io.netty.channel.Channel;
import io.netty.channel.DefaultSelectStrategyFactory;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SelectStrategyFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.util.concurrent.DefaultThreadFactory;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.nio.channels.spi.SelectorProvider;
import java.util.concurrent.TimeUnit;

/**
 * The event loops of clients and servers: epoll where netty-transport-native-epoll is available,
 * NIO elsewhere. Their threads are daemons.
 */
public final class EventLoops implements AutoCloseable {
    private static final int CLOSE_SECONDS = 5;

    private final EventLoopGroup group;

    /** All channels that are open. */
    private final ChannelGroup channels = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);

    private final Class<? extends Channel> channelType;
    private final Class<? extends ServerChannel> serverChannelType;
    private final boolean isEpoll;

    private EventLoops(int threads, int spinMicros) {
        SelectStrategyFactory strategies = spinMicros == 0
                ? DefaultSelectStrategyFactory.INSTANCE
                : () -> new SpinSelectStrategy(spinMicros);
        isEpoll = isEpollAvailable();
        IoHandlerFactory handlers;
        if (isEpoll) {
            handlers = EpollTransport.handlers(strategies);
            channelType = EpollTransport.channelType();
            serverChannelType = EpollTransport.serverChannelType();
        } else {
            handlers = NioIoHandler.newFactory(SelectorProvider.provider(), strategies);
            channelType = NioSocketChannel.class;
            serverChannelType = NioServerSocketChannel.class;
        }
        group = new MultiThreadIoEventLoopGroup(threads, new DefaultThreadFactory("stadium", true),
                handlers);
    }

    /**
     * Starts event loops that sleep while they have nothing to do.
     *
     * @param threads how many, at least 1
     * @return the event loops
     */
    public static EventLoops start(int threads) {
        return new EventLoops(threads, 0);
    }

    /**
     * Starts event loops that poll for a while before they sleep. This shortens the round trip of
     * one request at a time, and occupies a core per loop while there is traffic.
     *
     * @param threads how many, at least 1, and no more than there are idle cores
     * @param spinMicros microseconds after the last activity; 50 covers a round trip on a local
     *     network
     * @return the event loops
     */
    public static EventLoops startSpinning(int threads, int spinMicros) {
        if (spinMicros < 1) {
            throw new IllegalArgumentException("spinMicros must be at least 1, not " + spinMicros);
        }
        return new EventLoops(threads, spinMicros);
    }

    private static boolean isEpollAvailable() {
        try {
            return EpollTransport.isAvailable();
        } catch (LinkageError e) {
            // The optional dependency is absent.
            return false;
        }
    }

    /**
     * Whether these event loops use epoll.
     *
     * @return whether they use epoll, not NIO
     */
    public boolean isEpoll() {
        return isEpoll;
    }

    /**
     * The next of the event loops, in turn. With one thread it is always the same, and all
     * connections run on it.
     *
     * @return an event loop, which is closed with this object
     */
    public EventLoop next() {
        return group.next();
    }

    /** Has a channel closed with these event loops. */
    void track(Channel channel) {
        channels.add(channel);
    }

    EventLoopGroup group() {
        return group;
    }

    Class<? extends Channel> channelType() {
        return channelType;
    }

    Class<? extends ServerChannel> serverChannelType() {
        return serverChannelType;
    }

    /** Closes all channels and stops the threads. It waits up to 10 seconds. */
    @Override
    public void close() {
        // Netty closes channels only where it notices the shutdown before its last look at the
        // tasks; the others would stay open.
        channels.close().awaitUninterruptibly(CLOSE_SECONDS, TimeUnit.SECONDS);
        group.shutdownGracefully(0, CLOSE_SECONDS, TimeUnit.SECONDS)
                .awaitUninterruptibly(CLOSE_SECONDS, TimeUnit.SECONDS);
    }
}
