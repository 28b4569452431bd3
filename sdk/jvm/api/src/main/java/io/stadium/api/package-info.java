/**
 * Pushes, devices, wallets, receipts, queues and workers of a Stadium server.
 *
 * <p>{@link io.stadium.api.Stadium} is a connection to a server or a cluster, and gives the others.
 * Each of them has a blocking form and, by {@code async()}, one whose methods return futures.
 *
 * <p>A request ends with an answer or an {@link io.stadium.rpc.RpcException}: {@code Rejected} with
 * the server's code, {@code Busy} with the time to wait, and others. An argument that is wrong in
 * any case is an {@link IllegalArgumentException}, and nothing is sent. Amounts are whole minor
 * units. Moments are to the millisecond.
 */
package io.stadium.api;
