/**
 * Services and callers: balancing, deadlines, retries, admission, leases.
 */
module io.stadium.rpc {
    requires transitive com.google.protobuf;
    requires transitive io.stadium.rsocket;
    requires io.netty.common;
    requires transitive io.netty.handler;
    requires org.slf4j;

    exports io.stadium.rpc;
    exports io.stadium.rpc.client;
    exports io.stadium.rpc.discovery;
    exports io.stadium.rpc.registry;
    exports io.stadium.rpc.server;
}
