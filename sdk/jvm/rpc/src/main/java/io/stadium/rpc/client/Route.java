package io.stadium.rpc.client;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.stadium.rpc.Method;
import io.stadium.rpc.balance.Hedge;
import io.stadium.rpc.wire.CallMetadata;

/** A method as one event loop calls it: its metadata, its hedge, and its service. */
final class Route {
    final Method<?, ?> method;
    final String service;

    /** {@code null} for a method that has none. */
    final Hedge hedge;

    /** The service on this loop; {@code null} until the first call. */
    Service ofLoop;

    /** Route, deadline, and the client's token: most requests need no more. */
    private final ByteBuf whole = Unpooled.buffer(128);

    /** Where the deadline is in {@link #whole}. */
    private final int deadlineAt;

    /** The time left in {@link #whole}: that of most calls, which are sent as they are made. */
    private int wholeLeftMs;

    private final String route;
    private final String bearer;

    Route(Method<?, ?> method, Settings settings) {
        this.method = method;
        route = method.route();
        service = route.substring(0, route.indexOf('/'));
        hedge = method.isIdempotent() && settings.hedge != null ? new Hedge(settings.hedge) : null;
        bearer = settings.bearer;
        CallMetadata.route(whole, route);
        CallMetadata.deadline(whole, 0);
        deadlineAt = whole.writerIndex() - 4;
        if (bearer != null) {
            CallMetadata.bearer(whole, bearer);
        }
    }

    /** The metadata of a call's request, in a buffer that holds until the next one. */
    ByteBuf metadata(Call call, long nowUs, ByteBuf scratch) {
        CallOptions options = call.options;
        boolean hasDeadline = call.deadlineUs != TimerWheel.NEVER;
        long leftMs = CallMetadata.leftMs(Math.max(call.deadlineUs - nowUs, 0));
        if (hasDeadline && (options == null || !options.hasOwnMetadata())) {
            if (wholeLeftMs != (int) leftMs) {
                wholeLeftMs = (int) leftMs;
                whole.setInt(deadlineAt, wholeLeftMs);
            }
            return whole;
        }
        scratch.clear();
        CallMetadata.route(scratch, route);
        if (hasDeadline) {
            CallMetadata.deadline(scratch, leftMs);
        }
        if (bearer != null && (options == null || options.bearer() == null)) {
            CallMetadata.bearer(scratch, bearer);
        }
        if (options == null) {
            return scratch;
        }
        if (options.key() != null) {
            CallMetadata.key(scratch, options.key());
        }
        if (options.bearer() != null) {
            CallMetadata.bearer(scratch, options.bearer());
        }
        if (options.trace() != null) {
            TraceContext trace = options.trace();
            CallMetadata.trace(scratch, trace.traceParent(), trace.traceState());
        }
        if (options.metadata() != null) {
            scratch.writeBytes(options.metadata());
        }
        return scratch;
    }
}
