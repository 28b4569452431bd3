package io.stadium.rpc.server;

import io.stadium.rsocket.metadata.Authentication;
import io.stadium.rsocket.metadata.Tracing;
import java.net.SocketAddress;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Optional;

/**
 * What a function knows of the call that it answers.
 *
 * <p>The call of an inline function, and of an interceptor, is valid until that returns: another
 * call takes its place then, and a use of it throws {@link IllegalStateException} or shows the
 * other call. All other calls are valid for ever, and may be used by any thread.
 */
public sealed interface Call permits InlineCall, StartedCall {
    /**
     * The method that was called.
     *
     * @return {@code SERVICE/METHOD}
     */
    String route();

    /**
     * The time until the caller stops waiting.
     *
     * @return the time, zero when it has passed. Of an inline function's call: when the request
     *     was read
     */
    Duration timeLeft();

    /**
     * Whether the caller no longer waits for the answer: it cancelled or disconnected, or the
     * deadline passed. Functions that compute for long ask from time to time.
     *
     * @return whether nobody waits
     */
    boolean isCancelled();

    /**
     * Runs a task once when the call is cancelled, on the event loop, or now if it is already. A
     * call that ends otherwise forgets the task. Inline functions are never cancelled.
     *
     * @param task must not block
     */
    void onCancel(Runnable task);

    /**
     * The affinity key: calls with the same key reach the same instance while it lives.
     *
     * @return a new array, if the caller gave one
     */
    Optional<byte[]> key();

    /**
     * The caller's credentials. Nobody has checked them.
     *
     * @return the credentials, if there are any that are well-formed
     */
    Optional<Authentication> authentication();

    /**
     * The trace that the call belongs to.
     *
     * @return the trace, if the caller stated one
     */
    Optional<Tracing> tracing();

    /**
     * The content of the first metadata entry of a MIME type.
     *
     * @param mimeType the MIME type
     * @return a new array, if there is such an entry
     */
    Optional<byte[]> entry(String mimeType);

    /**
     * The request's metadata as it was received.
     *
     * @return a new array
     */
    byte[] metadata();

    /**
     * The address of the caller's connection; behind a proxy it is the proxy's.
     *
     * @return the address
     */
    SocketAddress peer();

    /**
     * The certificate that the caller's connection was opened with, which TLS has verified.
     *
     * @return the certificate, if TLS asked for one and the caller has shown it
     */
    Optional<X509Certificate> certificate();
}
