package io.stadium.rsocket.netty;

import io.netty.channel.Channel;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.SelectStrategyFactory;
import io.netty.channel.ServerChannel;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;

/** The part of {@link EventLoops} that needs netty-transport-classes-epoll, which may be absent. */
final class EpollTransport {
    private EpollTransport() {}

    static boolean isAvailable() {
        return Epoll.isAvailable();
    }

    static IoHandlerFactory handlers(SelectStrategyFactory strategies) {
        return EpollIoHandler.newFactory(0, strategies);
    }

    static Class<? extends Channel> channelType() {
        return EpollSocketChannel.class;
    }

    static Class<? extends ServerChannel> serverChannelType() {
        return EpollServerSocketChannel.class;
    }
}
