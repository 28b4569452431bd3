// Bare Netty: a 4-byte length, then the message. One event loop, epoll transport.
//
// As fast as we know to write it: what one read brought is decoded at once and answered by one write; no decoder
// between the channel and the code; messages go through one scratch array, which is protobuf's fastest form.
package stadium.peers;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.CodedOutputStream;
import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.FixedRecvByteBufAllocator;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.epoll.EpollSocketChannel;
import io.netty.channel.socket.SocketChannel;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.ArrayDeque;
import stadium.peers.proto.Sample;

final class NettyEcho {
    private static final int READ_BYTES = 64 * 1024;
    private static final int MESSAGE_BYTES_MAX = 16 * 1024;

    static void serve(Arguments arguments) throws Exception {
        EventLoopGroup loop = new EpollEventLoopGroup(1);
        new ServerBootstrap()
                .group(loop)
                .channel(EpollServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, 1024)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.RCVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(READ_BYTES))
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(new Frames() {
                            @Override
                            void received(Sample sample) throws IOException {
                                send(sample);
                            }

                            @Override
                            public void exceptionCaught(ChannelHandlerContext context, Throwable why) {
                                context.close();
                            }
                        });
                    }
                })
                .bind(arguments.address("listen"))
                .sync();
        arguments.listening();
    }

    /** Length-prefixed messages in and out of a channel; used by its event loop alone. */
    private abstract static class Frames extends ChannelInboundHandlerAdapter {
        private final byte[] scratch = new byte[MESSAGE_BYTES_MAX];
        private ChannelHandlerContext context;
        private ByteBuf partial;
        private ByteBuf outgoing;
        private boolean reading;

        abstract void received(Sample sample) throws IOException;

        @Override
        public void channelActive(ChannelHandlerContext context) {
            this.context = context;
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) throws IOException {
            reading = true;
            ByteBuf incoming = (ByteBuf) message;
            if (partial != null) {
                partial.writeBytes(incoming);
                incoming.release();
                incoming = partial;
                partial = null;
            }
            while (incoming.readableBytes() >= 4) {
                int length = incoming.getInt(incoming.readerIndex());
                if (incoming.readableBytes() < 4 + length) {
                    break;
                }
                incoming.skipBytes(4).readBytes(scratch, 0, length);
                received(Sample.parseFrom(CodedInputStream.newInstance(scratch, 0, length)));
            }
            if (incoming.isReadable()) {
                partial = context.alloc().directBuffer(READ_BYTES + MESSAGE_BYTES_MAX);
                partial.writeBytes(incoming);
            }
            incoming.release();
        }

        @Override
        public void channelReadComplete(ChannelHandlerContext context) {
            reading = false;
            flush();
        }

        /** Leaves with the other messages of this read, or at once outside of one. */
        final void send(Sample sample) throws IOException {
            int length = sample.getSerializedSize();
            CodedOutputStream output = CodedOutputStream.newInstance(scratch, 0, length);
            sample.writeTo(output);
            if (outgoing == null) {
                outgoing = context.alloc().directBuffer(READ_BYTES);
            }
            outgoing.writeInt(length).writeBytes(scratch, 0, length);
            if (!reading) {
                flush();
            }
        }

        private void flush() {
            if (outgoing != null) {
                context.writeAndFlush(outgoing, context.voidPromise());
                outgoing = null;
            }
        }

        public final void close() {
            context.close();
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            if (partial != null) {
                partial.release();
                partial = null;
            }
        }
    }

    static final class Client implements Opening {
        private final EventLoopGroup loop = new EpollEventLoopGroup(1);

        @Override
        public Caller open(InetSocketAddress address, int elements, Load load) throws Exception {
            Connection connection = new Connection(new Samples(elements), load);
            new Bootstrap()
                    .group(loop)
                    .channel(EpollSocketChannel.class)
                    .option(ChannelOption.TCP_NODELAY, true)
                    .option(ChannelOption.RCVBUF_ALLOCATOR, new FixedRecvByteBufAllocator(READ_BYTES))
                    .handler(connection)
                    .connect(address)
                    .sync();
            return connection;
        }

        @Override
        public void begin(Runnable calls) {
            loop.next().execute(calls);
        }
    }

    /** Answers come in the order of the requests. */
    private static final class Connection extends Frames implements Caller {
        private record Call(int connection, long id, long startedNanos) {}

        private final Samples samples;
        private final Load load;
        private final ArrayDeque<Call> calls = new ArrayDeque<>();

        Connection(Samples samples, Load load) {
            this.samples = samples;
            this.load = load;
        }

        @Override
        public void call(int connection, long id, long startedNanos) {
            calls.add(new Call(connection, id, startedNanos));
            try {
                send(samples.sample(id));
            } catch (IOException why) {
                load.failed(why);
            }
        }

        @Override
        void received(Sample sample) {
            Call call = calls.remove();
            load.answered(call.connection, call.id, sample.getId(), call.startedNanos);
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable why) {
            load.failed(why);
        }
    }
}
