/**
 * The driver that connects the protocol of {@code io.stadium.rsocket.connection} to Netty channels.
 *
 * <p>{@link io.stadium.rsocket.netty.RSocketClient} connects,
 * {@link io.stadium.rsocket.netty.RSocketServer} accepts, and
 * {@link io.stadium.rsocket.netty.RSocket} is one connection.
 */
package io.stadium.rsocket.netty;
