/**
 * Pushes, devices, wallets, receipts, queues and workers of a Stadium server.
 */
module io.stadium.api {
    requires transitive com.google.protobuf;
    requires transitive io.stadium.rpc;
    requires org.slf4j;

    exports io.stadium.api;
    exports io.stadium.v1;
}
