/**
 * RSocket 1.0: frames, metadata, the protocol of one connection without I/O, and a Netty driver.
 */
module io.stadium.rsocket {
    requires transitive io.netty.buffer;
    requires io.netty.common;
    requires transitive io.netty.handler;
    requires transitive io.netty.transport;
    requires static io.netty.transport.classes.epoll;
    requires org.slf4j;

    exports io.stadium.rsocket.connection;
    exports io.stadium.rsocket.frame;
    exports io.stadium.rsocket.metadata;
    exports io.stadium.rsocket.netty;
}
