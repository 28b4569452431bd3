/**
 * The frames of RSocket 1.0: decoding as a reused view of a buffer, and encoding into a buffer.
 *
 * <pre>
 * |0|  stream id (31)  |  type (6)  |I|M|  flags (8)  |  depends on the type ...
 * </pre>
 *
 * <p>A decoded frame obeys the layout of its type. Rules that need the connection (a stream in use,
 * credit, a lease) belong to {@code io.stadium.rsocket.connection}. All numbers are big-endian.
 */
package io.stadium.rsocket.frame;
