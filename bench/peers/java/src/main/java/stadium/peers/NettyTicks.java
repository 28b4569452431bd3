// Bare Netty speaking as much RSocket as request-streams need, its frames written by hand.
//
// Streams of one connection that are due in the same tick leave in one write. Nothing is checked, so nothing here could
// serve the internet: it is what the transport alone costs.
package stadium.peers;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.epoll.EpollEventLoopGroup;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.socket.SocketChannel;
import io.netty.handler.codec.LengthFieldBasedFrameDecoder;
import java.util.Arrays;

final class NettyTicks {
    private static final int KEEPALIVE = 0x03;
    private static final int REQUEST_STREAM = 0x06;
    private static final int REQUEST_N = 0x08;
    private static final int CANCEL = 0x09;
    private static final int PAYLOAD_NEXT = 0x0A << 10 | 0x20;
    private static final int KEEPALIVE_RESPOND = 0x80;
    private static final int UNBOUNDED = Integer.MAX_VALUE;
    private static final int FRAME_BYTES_MAX = 1 << 24;
    private static final int HEADER_BYTES = 6;
    private static final int DATA_BYTES = 8;

    static void serve(Arguments arguments) throws Exception {
        EventLoopGroup loop = new EpollEventLoopGroup(1);
        Wheel<Group> wheel = new Wheel<>(loop.next(), arguments.integer("tick-ms", 10), Group::tick);
        new ServerBootstrap()
                .group(loop)
                .channel(EpollServerSocketChannel.class)
                .option(ChannelOption.SO_BACKLOG, 65_535)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new ChannelInitializer<SocketChannel>() {
                    @Override
                    protected void initChannel(SocketChannel channel) {
                        channel.pipeline().addLast(new Connection(wheel));
                    }
                })
                .bind(arguments.address("listen"))
                .sync();
        arguments.listening();
    }

    /** Streams of a connection that are due in the same tick of the second. */
    private static final class Group {
        private final ChannelHandlerContext context;
        private final int ticks;
        private int[] streams = new int[8];
        private int[] credits = new int[8];
        private long[] firstTicks = new long[8];
        private int length;

        Group(ChannelHandlerContext context, int ticks) {
            this.context = context;
            this.ticks = ticks;
        }

        void add(int stream, int credit, long firstTick) {
            if (length == streams.length) {
                streams = Arrays.copyOf(streams, 2 * length);
                credits = Arrays.copyOf(credits, 2 * length);
                firstTicks = Arrays.copyOf(firstTicks, 2 * length);
            }
            streams[length] = stream;
            credits[length] = credit;
            firstTicks[length] = firstTick;
            length += 1;
        }

        int indexOf(int stream) {
            for (int index = 0; index < length; index++) {
                if (streams[index] == stream) {
                    return index;
                }
            }
            return -1;
        }

        void remove(int index) {
            length -= 1;
            streams[index] = streams[length];
            credits[index] = credits[length];
            firstTicks[index] = firstTicks[length];
        }

        boolean tick(long tick) {
            if (!context.channel().isActive()) {
                return false;
            }
            ByteBuf frames = context.alloc().directBuffer(length * (3 + HEADER_BYTES + DATA_BYTES));
            for (int index = 0; index < length; index++) {
                if (credits[index] == 0 || tick < firstTicks[index]) {
                    continue;
                }
                if (credits[index] != UNBOUNDED) {
                    credits[index] -= 1;
                }
                frames.writeMedium(HEADER_BYTES + DATA_BYTES)
                        .writeInt(streams[index])
                        .writeShort(PAYLOAD_NEXT)
                        .writeLong((tick - firstTicks[index]) / ticks + 1);
            }
            context.writeAndFlush(frames, context.voidPromise());
            return true;
        }
    }

    private static final class Connection extends LengthFieldBasedFrameDecoder {
        private final Wheel<Group> wheel;
        /** By the tick of the second; null where nothing is due. */
        private final Group[] groups;

        Connection(Wheel<Group> wheel) {
            super(FRAME_BYTES_MAX, 0, 3, 0, 3);
            this.wheel = wheel;
            this.groups = new Group[wheel.ticks()];
        }

        @Override
        protected Object decode(ChannelHandlerContext context, ByteBuf in) throws Exception {
            ByteBuf frame = (ByteBuf) super.decode(context, in);
            if (frame == null) {
                return null;
            }
            int stream = frame.readInt();
            int kind = frame.readUnsignedShort();
            switch (kind >> 10) {
                case REQUEST_STREAM -> open(context, stream, frame.readInt());
                case REQUEST_N -> grant(stream, frame.readInt());
                case CANCEL -> cancel(stream);
                case KEEPALIVE -> {
                    if ((kind & KEEPALIVE_RESPOND) != 0) {
                        ByteBuf answer = context.alloc().directBuffer();
                        answer.writeMedium(HEADER_BYTES + frame.readableBytes());
                        answer.writeInt(0).writeShort(KEEPALIVE << 10).writeBytes(frame);
                        context.writeAndFlush(answer, context.voidPromise());
                    }
                }
                default -> {}
            }
            frame.release();
            // Nothing goes up the pipeline; ByteToMessageDecoder goes on while bytes are consumed.
            return null;
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable why) {
            context.close();
        }

        private void open(ChannelHandlerContext context, int stream, int credit) {
            long firstTick = wheel.firstTick();
            int slot = (int) (firstTick % groups.length);
            if (groups[slot] == null) {
                groups[slot] = new Group(context, groups.length);
                wheel.add(groups[slot], firstTick);
            }
            groups[slot].add(stream, credit, firstTick);
        }

        private void grant(int stream, int more) {
            for (Group group : groups) {
                int index = group == null ? -1 : group.indexOf(stream);
                if (index >= 0) {
                    long credit = (long) group.credits[index] + more;
                    group.credits[index] = (int) Math.min(credit, UNBOUNDED);
                }
            }
        }

        private void cancel(int stream) {
            for (Group group : groups) {
                int index = group == null ? -1 : group.indexOf(stream);
                if (index >= 0) {
                    group.remove(index);
                }
            }
        }
    }
}
