/**
 * Composite metadata and the entries that RSocket's extensions define: routing, authentication,
 * tracing and MIME types of a stream.
 *
 * <pre>
 * |1|  id (7)  |  or  |0|  length - 1 (7)  |  MIME type ...  |  then  |  length (24)  |  content
 * ...
 * </pre>
 *
 * <p>{@link io.stadium.rsocket.metadata.CompositeMetadata} walks the entries without copying and
 * without allocation. A reader skips entries whose MIME type it does not know.
 */
package io.stadium.rsocket.metadata;
