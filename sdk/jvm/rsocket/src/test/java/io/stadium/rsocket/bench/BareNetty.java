package io.stadium.rsocket.bench;

import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import java.net.InetSocketAddress;

/**
 * The measure: payloads behind a 24-bit length on a plain Netty pipeline, with Netty's own decoder,
 * one write a payload and one flush a read batch. There is no protocol and there are no streams.
 */
final class BareNetty {
    private static EventLoopGroup clients;

    private BareNetty() {}

    private static EventLoopGroup group() {
        return new MultiThreadIoEventLoopGroup(1, EpollIoHandler.newFactory());
    }

    static InetSocketAddress serve(InetSocketAddress address) {
        Channel channel = new ServerBootstrap()
                .group(group())
                .channel(EpollServerSocketChannel.class)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(decoder(), new Returner());
                    }
                })
                .bind(address).syncUninterruptibly().channel();
        return (InetSocketAddress) channel.localAddress();
    }

    static void call(InetSocketAddress address, ByteBuf message, int calls, Meter meter) {
        if (clients == null) {
            clients = group();
        }
        ByteBuf frame = message.alloc().directBuffer();
        frame.writeMedium(message.readableBytes()).writeBytes(message.duplicate());
        new Bootstrap()
                .group(clients)
                .channel(EpollSocketChannel.class)
                .option(ChannelOption.TCP_NODELAY, true)
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(decoder(), new Caller(frame, calls, meter));
                    }
                })
                .connect(address).syncUninterruptibly();
    }

    private static LengthFieldBasedFrameDecoder decoder() {
        return new LengthFieldBasedFrameDecoder(1 << 24, 0, 3, 0, 0);
    }

    /** Returns each frame. */
    private static final class Returner extends ChannelInboundHandlerAdapter {
        @Override
        public void channelRead(ChannelHandlerContext context, Object frame) {
            context.write(frame, context.voidPromise());
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }
    }

    /** Sends the next frame when one arrives. */
    private static final class Caller extends ChannelInboundHandlerAdapter {
        private final ByteBuf frame;
        private final int calls;
        private final Meter meter;

        Caller(ByteBuf frame, int calls, Meter meter) {
            this.frame = frame;
            this.calls = calls;
            this.meter = meter;
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            for (int nth = 0; nth < calls; nth++) {
                context.write(frame.retainedDuplicate(), context.voidPromise());
            }
            context.flush();
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object received) {
            ((ByteBuf) received).release();
            meter.called();
            context.write(frame.retainedDuplicate(), context.voidPromise());
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            context.flush();
        }
    }
}
