package io.stadium.rsocket.netty;

import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.handler.ssl.SslContext;
import io.stadium.rsocket.connection.Config;
import java.net.InetSocketAddress;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * Accepts RSocket clients on TCP or TLS.
 *
 * <p>Setters return the server; set them before {@link #bind}.
 */
public final class RSocketServer {
    private final EventLoops eventLoops;
    private Config config = Config.DEFAULT;
    private TransportOptions transport = TransportOptions.DEFAULT;
    private SslContext sslContext;
    private Supplier<RSocketHandler> handlers = () -> RSocketHandler.NONE;
    private BooleanSupplier accepting = () -> true;

    /**
     * Creates a server.
     *
     * @param eventLoops where its connections run
     */
    public RSocketServer(EventLoops eventLoops) {
        this.eventLoops = Objects.requireNonNull(eventLoops);
    }

    /**
     * Sets bounds and options of the protocol.
     *
     * @param config the options; default {@link Config#DEFAULT}
     * @return this server
     */
    public RSocketServer config(Config config) {
        this.config = Objects.requireNonNull(config);
        return this;
    }

    /**
     * Sets the bounds of each connection's outgoing queue.
     *
     * @param transport the bounds; default {@link TransportOptions#DEFAULT}
     * @return this server
     */
    public RSocketServer transport(TransportOptions transport) {
        this.transport = Objects.requireNonNull(transport);
        return this;
    }

    /**
     * Uses TLS.
     *
     * @param sslContext a context for servers, or {@code null} for plain TCP, which is the default
     * @return this server
     */
    public RSocketServer tls(SslContext sslContext) {
        this.sslContext = sslContext;
        return this;
    }

    /**
     * Sets the application's side of each connection.
     *
     * @param handlers makes the handler of a new connection; default {@link RSocketHandler#NONE}
     * @return this server
     */
    public RSocketServer handlers(Supplier<RSocketHandler> handlers) {
        this.handlers = Objects.requireNonNull(handlers);
        return this;
    }

    /**
     * Sets a question that is asked for each new connection, on its event loop.
     *
     * @param accepting {@code false} closes the connection before a handler is made for it; the
     *     default accepts all
     * @return this server
     */
    public RSocketServer accepting(BooleanSupplier accepting) {
        this.accepting = Objects.requireNonNull(accepting);
        return this;
    }

    /**
     * Listens.
     *
     * @param address where; port 0 takes a free one
     * @return the listener, when the port is bound
     */
    public CompletableFuture<Bound> bind(InetSocketAddress address) {
        CompletableFuture<Bound> bound = new CompletableFuture<>();
        ChannelFuture binding = new ServerBootstrap()
                .group(eventLoops.group())
                .channel(eventLoops.serverChannelType())
                .option(ChannelOption.SO_BACKLOG, 1_024)
                .option(ChannelOption.SO_REUSEADDR, true)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK,
                        RSocketClient.waterMark(transport))
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        if (!accepting.getAsBoolean()) {
                            channel.close();
                            return;
                        }
                        eventLoops.track(channel);
                        if (sslContext != null) {
                            channel.pipeline().addLast(sslContext.newHandler(channel.alloc()));
                        }
                        channel.pipeline().addLast(new Driver(config, null, transport,
                                handlers.get()));
                    }
                })
                .bind(address);
        binding.addListener(done -> {
            if (done.isSuccess()) {
                eventLoops.track(binding.channel());
                bound.complete(new Bound(binding.channel()));
            } else {
                bound.completeExceptionally(done.cause());
            }
        });
        return bound;
    }

    /** A port that accepts clients. */
    public static final class Bound implements AutoCloseable {
        private final Channel channel;

        private Bound(Channel channel) {
            this.channel = channel;
        }

        /**
         * Where it listens.
         *
         * @return the address with the port that was bound
         */
        public InetSocketAddress address() {
            return (InetSocketAddress) channel.localAddress();
        }

        /** Stops to accept clients. Connections that exist go on. */
        @Override
        public void close() {
            channel.close().awaitUninterruptibly();
        }
    }
}
