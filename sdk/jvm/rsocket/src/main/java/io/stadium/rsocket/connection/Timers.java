package io.stadium.rsocket.connection;

import io.netty.buffer.ByteBuf;
import io.stadium.rsocket.frame.ErrorCode;
import io.stadium.rsocket.frame.FrameEncoder;
import io.stadium.rsocket.frame.FrameFlag;

/**
 * Time: KEEPALIVE frames, and what happens when none arrive (KEEPALIVE Frame).
 *
 * <p>A client sends KEEPALIVE in the interval of its SETUP, independent of what else it sends. Any
 * bytes of the peer are a sign of life.
 */
final class Timers {
    private final Connection connection;

    /** The time of the driver's last call. */
    long nowMs;

    /** When the last bytes arrived, or the connection began. */
    private long receivedMs;

    /**
     * Client: when the next KEEPALIVE is due. Server: until when a SETUP must be accepted, then
     * never.
     */
    private long dueMs;

    /** From SETUP. */
    int lifetimeMs;

    Timers(Connection connection, long nowMs) {
        Config config = connection.config;
        this.connection = connection;
        this.nowMs = nowMs;
        receivedMs = nowMs;
        lifetimeMs = config.lifetimeMs();
        dueMs = nowMs + (connection.isClient ? config.keepaliveIntervalMs() : config.setupMs());
    }

    /** Bytes have arrived. */
    void received() {
        receivedMs = nowMs;
    }

    /** The SETUP was accepted. */
    void accepted() {
        receivedMs = nowMs;
        dueMs = Long.MAX_VALUE;
    }

    void advance(long time, ByteBuf out) {
        nowMs = Math.max(nowMs, time);
        if (connection.leases != null) {
            connection.leases.advance(nowMs);
        }
        if (connection.phase == Phase.CLOSED) {
            return;
        }
        if (nowMs < endsMs()) {
            if (nowMs >= dueMs && connection.isSetUp()) {
                FrameEncoder.keepalive(out, FrameFlag.RESPOND, 0, null);
                dueMs = nowMs + connection.config.keepaliveIntervalMs();
            }
            return;
        }
        if (connection.isSetUp()) {
            String text = "No keep-alive acks for " + lifetimeMs + " ms";
            connection.end(Closed.Reason.KEEPALIVE_TIMEOUT, ErrorCode.CONNECTION_ERROR, text, out);
        } else {
            String text = "no SETUP was accepted in time";
            connection.end(Closed.Reason.SETUP_TIMEOUT, ErrorCode.REJECTED_SETUP, text, out);
        }
    }

    long deadlineMs() {
        if (connection.phase == Phase.CLOSED) {
            return Long.MAX_VALUE;
        }
        long deadlineMs = connection.isSetUp() ? Math.min(endsMs(), dueMs) : endsMs();
        Leases leases = connection.leases;
        return leases == null ? deadlineMs : Math.min(deadlineMs, leases.deadlineMs());
    }

    /** When the connection ends if nothing arrives. */
    private long endsMs() {
        return connection.isSetUp() ? receivedMs + lifetimeMs : dueMs;
    }
}
