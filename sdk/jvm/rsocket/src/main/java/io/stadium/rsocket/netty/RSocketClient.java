package io.stadium.rsocket.netty;

import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.concurrent.Future;
import io.stadium.rsocket.connection.Config;
import io.stadium.rsocket.connection.SetupOptions;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * Connects to RSocket servers on TCP or TLS.
 *
 * <p>Setters return the client; set them before the first connection.
 */
public final class RSocketClient {
    private final EventLoops eventLoops;
    private Config config = Config.DEFAULT;
    private SetupOptions setup = SetupOptions.DEFAULT;
    private TransportOptions transport = TransportOptions.DEFAULT;
    private SslContext sslContext;
    private int connectMs = 5_000;
    private Supplier<RSocketHandler> handlers = () -> RSocketHandler.NONE;

    /**
     * Creates a client.
     *
     * @param eventLoops where its connections run
     */
    public RSocketClient(EventLoops eventLoops) {
        this.eventLoops = Objects.requireNonNull(eventLoops);
    }

    /**
     * Sets bounds and options of the protocol.
     *
     * @param config the options; default {@link Config#DEFAULT}
     * @return this client
     */
    public RSocketClient config(Config config) {
        this.config = Objects.requireNonNull(config);
        return this;
    }

    /**
     * Sets MIME types and payload of SETUP.
     *
     * @param setup the options; default {@link SetupOptions#DEFAULT}
     * @return this client
     */
    public RSocketClient setup(SetupOptions setup) {
        this.setup = Objects.requireNonNull(setup);
        return this;
    }

    /**
     * Sets the bounds of the outgoing queue.
     *
     * @param transport the bounds; default {@link TransportOptions#DEFAULT}
     * @return this client
     */
    public RSocketClient transport(TransportOptions transport) {
        this.transport = Objects.requireNonNull(transport);
        return this;
    }

    /**
     * Uses TLS.
     *
     * @param sslContext a context for clients, or {@code null} for plain TCP, which is the default
     * @return this client
     */
    public RSocketClient tls(SslContext sslContext) {
        this.sslContext = sslContext;
        return this;
    }

    /**
     * Sets how long a connection may take to be established.
     *
     * @param connectMs milliseconds, at least 1; default 5,000
     * @return this client
     */
    public RSocketClient connectMs(int connectMs) {
        this.connectMs = connectMs;
        return this;
    }

    /**
     * Sets the application's side of each connection.
     *
     * @param handlers makes the handler of a new connection; default {@link RSocketHandler#NONE}
     * @return this client
     */
    public RSocketClient handlers(Supplier<RSocketHandler> handlers) {
        this.handlers = Objects.requireNonNull(handlers);
        return this;
    }

    /**
     * Connects and sends the SETUP.
     *
     * @param address the server
     * @return the connection, when TCP, and TLS if it is used, are established. A server that
     *     refuses the SETUP ends the connection afterwards
     */
    public CompletableFuture<RSocket> connect(InetSocketAddress address) {
        CompletableFuture<RSocket> connected = new CompletableFuture<>();
        ChannelFuture connecting = new Bootstrap()
                .group(eventLoops.group())
                .channel(eventLoops.channelType())
                .option(ChannelOption.TCP_NODELAY, true)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, connectMs)
                .option(ChannelOption.WRITE_BUFFER_WATER_MARK, waterMark(transport))
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        eventLoops.track(channel);
                        if (sslContext != null) {
                            channel.pipeline().addLast(sslContext.newHandler(
                                    channel.alloc(), address.getHostString(), address.getPort()));
                        }
                        channel.pipeline().addLast(new Driver(config, setup, transport,
                                handlers.get()));
                    }
                })
                .connect(address);
        connecting.addListener(done -> {
            SslHandler ssl = connecting.channel().pipeline().get(SslHandler.class);
            if (done.isSuccess() && ssl != null) {
                ssl.handshakeFuture().addListener(shaken -> complete(connected, shaken,
                        connecting.channel()));
            } else {
                complete(connected, done, connecting.channel());
            }
        });
        return connected;
    }

    private static void complete(CompletableFuture<RSocket> connected, Future<?> done,
            Channel channel) {
        Driver driver = channel.pipeline().get(Driver.class);
        if (done.isSuccess() && driver != null) {
            // The future may complete before the pipeline learns that the channel is active.
            driver.begin();
            connected.complete(driver.rsocket);
        } else if (done.isSuccess()) {
            connected.completeExceptionally(new ClosedChannelException());
        } else {
            connected.completeExceptionally(done.cause());
        }
    }

    static WriteBufferWaterMark waterMark(TransportOptions transport) {
        return new WriteBufferWaterMark(transport.readingStopsAt() / 2, transport.readingStopsAt());
    }
}
