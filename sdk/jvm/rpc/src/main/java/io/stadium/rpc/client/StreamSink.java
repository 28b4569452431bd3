package io.stadium.rpc.client;

import io.stadium.rpc.RpcException;

/** Takes the messages of a stream on the event loop. */
interface StreamSink<A> {
    /** A message. */
    void onItem(A item);

    /** The end; {@code null} is a good one. */
    void onEnd(RpcException failure);
}
