package io.stadium.rpc.client;

import io.netty.channel.ChannelHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.stadium.rpc.wire.Answers;
import io.stadium.rsocket.connection.Closed;
import io.stadium.rsocket.connection.Payload;
import io.stadium.rsocket.metadata.CompositeMetadata;
import io.stadium.rsocket.netty.RSocket;
import io.stadium.rsocket.netty.RSocketHandler;
import java.util.LinkedHashSet;
import java.util.Set;

/** One connection to an instance. */
final class Link implements RSocketHandler {
    final ClientLoop loop;
    final Service service;
    final Pool pool;

    /** {@code null} until the connection is up. */
    RSocket rsocket;

    /** It takes no more requests. */
    boolean isClosing;

    /** It has ended, or never came up. */
    boolean isGone;

    /** The instance has sent something. */
    private boolean isProven;

    /** When the present lease is over. */
    private long leaseUntilUs;

    /** Channels that wait until the outgoing queue has room. */
    private final Set<ChannelCall<?, ?>> paused = new LinkedHashSet<>(0);

    Link(ClientLoop loop, Service service, Pool pool) {
        this.loop = loop;
        this.service = service;
        this.pool = pool;
    }

    int instance() {
        return pool.instance;
    }

    /** Something came from the instance: the next wait for a connection is a short one. */
    void prove() {
        if (!isProven) {
            isProven = true;
            pool.backoff.reset();
        }
    }

    /** After a request without a lease: when to try again, in microseconds from now. */
    long leaseWaitUs() {
        return Math.max(leaseUntilUs - loop.nowUs(), 0);
    }

    void pause(ChannelCall<?, ?> call) {
        paused.add(call);
    }

    @Override
    public void onMetadataPush(RSocket from, Payload metadata) {
        prove();
        CompositeMetadata cursor = new CompositeMetadata().reset(metadata.metadata(),
                metadata.metadataIndex(), metadata.metadataLength());
        long load = Answers.readLoad(cursor, metadata.metadata());
        if (load != Answers.NO_LOAD) {
            service.balancer.load(instance(), Answers.factor(load), Answers.isQuiescing(load));
            service.ensureConnected();
        }
    }

    @Override
    public void onLease(RSocket from, int ttlMs, int requests) {
        prove();
        leaseUntilUs = loop.nowUs() + ttlMs * 1_000L;
        if (requests > 0) {
            loop.execute(service::sendWaiting);
        }
    }

    @Override
    public void onWritabilityChanged(RSocket from) {
        if (from.isWritable() && !paused.isEmpty()) {
            Set<ChannelCall<?, ?>> resumed = new LinkedHashSet<>(paused);
            paused.clear();
            resumed.forEach(ChannelCall::send);
        }
    }

    @Override
    public void onClosing(RSocket from, String text) {
        service.retire(this);
    }

    @Override
    public void onClosed(RSocket from, Closed closed) {
        String why = closed.reason() == Closed.Reason.PEER ? closed.text()
                : closed.reason().name().toLowerCase(java.util.Locale.ROOT).replace('_', ' ') + ": "
                        + closed.text();
        service.ended(this, why);
    }

    /** Notes that a read begins: the clock is read once for all that it brings. */
    @ChannelHandler.Sharable
    static final class Turn extends ChannelInboundHandlerAdapter {
        private final ClientLoop loop;

        Turn(ClientLoop loop) {
            this.loop = loop;
        }

        @Override
        public void channelRead(ChannelHandlerContext context, Object message) {
            loop.turn();
            context.fireChannelRead(message);
        }
    }
}
