/**
 * Services: functions for methods, the server that answers with them, and its admission.
 *
 * <p>{@link io.stadium.rpc.server.Service} has the functions, {@link
 * io.stadium.rpc.server.RpcServer} serves them, and {@link io.stadium.rpc.server.RpcServers#serve}
 * does so until the process is asked to end.
 */
package io.stadium.rpc.server;
