/**
 * One connection's protocol as a state machine without I/O, threads, clock or randomness.
 *
 * <p>{@link io.stadium.rsocket.connection.Connection} takes received bytes, commands and the
 * current time. It appends outgoing bytes to a buffer and reports events to one
 * {@link io.stadium.rsocket.connection.Listener}. Either side may be requester and responder.
 */
package io.stadium.rsocket.connection;
