/**
 * Calls services: {@link io.stadium.rpc.client.RpcClient}.
 *
 * <p>The client chooses an instance for each call, sends it over one of its connections, and makes
 * it again where that is allowed. Each of its event loops has its own connections and its own view
 * of the instances; a call belongs to one loop from its beginning to its end.
 */
package io.stadium.rpc.client;
