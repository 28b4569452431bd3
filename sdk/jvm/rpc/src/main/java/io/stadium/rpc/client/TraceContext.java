package io.stadium.rpc.client;

/**
 * The place of the present call in a trace, in the form of W3C Trace Context. A client asks for it
 * on the thread that makes a call, so that an implementation can read the thread's current span.
 */
public interface TraceContext {
    /**
     * The value of {@code traceparent}: {@code 00-TRACE-SPAN-FLAGS} in hexadecimal.
     *
     * @return the value; {@code null} where the call belongs to no trace. A value of another form
     *     is not sent
     */
    String traceParent();

    /**
     * The value of {@code tracestate}.
     *
     * @return the value, or {@code null}
     */
    default String traceState() {
        return null;
    }
}
