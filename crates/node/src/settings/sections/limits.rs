//! `[limits]`: the bound of everything that a device can make us hold or do.
//!
//! Every queue, table and rate of the edge has its row here, with what raising it costs, so that the memory of
//! a server is arithmetic.

use crate::settings::define::group;

group! {
    /// Bounds of all that devices can make us hold or do. Over a bound the answer is the protocol's own, and it is
    /// counted.
    pub struct Limits {
        /// Open device connections, over all loops. One more is refused with CONNACK server busy.
        connections_max: u32 = 1_000_000, unit "connections", in 1..=10_000_000,
            cost "about 0.5 KB each here (3 KB with TLS) and 5 KB in the kernel; a file descriptor each";
        /// Open connections from one address. 0 means no limit, for fleets behind carriers' address translation.
        connections_per_address_max: u32 = 0, unit "connections", in 0..=10_000_000;
        /// Connections accepted each second, over all loops; the rest wait in the kernel's queue. 0 means no limit.
        connects_per_second: u32 = 0, unit "connections/s", in 0..=10_000_000;
        /// Connections accepted each second from one address; more are closed at once. 0 means no limit.
        connects_per_address_per_second: u32 = 0, unit "connections/s", in 0..=1_000_000;
        /// TLS handshakes and CONNECTs in flight, over all loops. At the bound new connections wait in the kernel's queue.
        handshakes_max: u32 = 8_192, unit "handshakes", in 1..=1_000_000,
            cost "up to 40 KB each while a TLS handshake runs";
        /// Bytes a connection may have sent and we have kept before it is authenticated.
        before_auth_bytes: u32 = 4_096, unit "bytes", in 256..=65_536, cost "memory that anyone can make us hold";
        /// Time from accept to an authenticated CONNECT.
        before_auth_ms: u32 = 10_000, unit "ms", in 100..=120_000, cost "slots held by those who never authenticate";
        /// Largest packet taken from a device (Maximum Packet Size).
        packet_bytes_max: u32 = 262_144, unit "bytes", in 1_024..=268_435_455,
            cost "a connection may hold one partial packet of this size";
        /// Bytes waiting for a device that reads slower than it is sent to. Beyond it the device is cut as a slow reader.
        write_queue_bytes_max: u32 = 1_048_576, unit "bytes", in 4_096..=1_073_741_824,
            cost "memory for each slow reader";
        /// Longest time without progress while something is unsent, before the device is cut as a slow reader.
        write_stall_s: u32 = 30, unit "s", in 1..=3_600;
        /// Messages a device may publish each second, ten seconds' worth at once. 0 means no limit.
        messages_per_second_per_connection: u32 = 0, unit "messages/s", in 0..=10_000_000;
        /// Bytes a device may send each second, ten seconds' worth at once. 0 means no limit.
        bytes_per_second_per_connection: u32 = 0, unit "bytes/s", in 0..=1_073_741_824;
        /// QoS 1 and 2 messages a device may have unacknowledged towards us (Receive Maximum).
        receive_maximum: u16 = 256, unit "messages", in 1..=65_535, cost "state for each QoS 2 message in flight";
        /// Topic aliases a device may set up (Topic Alias Maximum). 0 means none.
        topic_alias_maximum: u16 = 16, unit "aliases", in 0..=65_535, cost "a topic name each, for each device that uses them";
        /// QoS 1 and 2 messages in flight towards a device; its own Receive Maximum may be lower.
        inflight_max: u16 = 64, unit "messages", in 1..=65_535, cost "a message held for each until it is acknowledged";
        /// Subscriptions of one session. One more is refused with quota exceeded.
        subscriptions_per_session_max: u32 = 1_000, unit "subscriptions", in 1..=1_000_000,
            cost "about 100 bytes and the filter's length each";
        /// Sessions kept, with and without a connection.
        sessions_max: u32 = 2_000_000, unit "sessions", in 1..=20_000_000, cost "about 200 bytes and what is queued for each";
        /// Longest time that a session outlives its connection; a device asking for more gets this much.
        session_expiry_s_max: u32 = 86_400, unit "s", in 0..=4_294_967_295, cost "sessions of devices that never return";
        /// Messages queued for a session without a connection. The oldest is dropped, and counted.
        session_messages_max: u32 = 1_000, unit "messages", in 0..=1_000_000;
        /// Bytes queued for a session without a connection. The oldest is dropped, and counted.
        session_bytes_max: u64 = 1_048_576, unit "bytes", in 0..=1_073_741_824, cost "memory for each device that is away";
        /// Retained messages, over all topics. One more is refused with quota exceeded.
        retained_messages_max: u32 = 1_000_000, unit "messages", in 0..=100_000_000, cost "about 200 bytes and the message each";
        /// Bytes of retained messages, payloads and topics.
        retained_bytes_max: u64 = 268_435_456, unit "bytes", in 0..=1_099_511_627_776, cost "as much memory";
        /// Longest keep-alive. A device asking for more, or for none, is told this one (Server Keep Alive) and a vanished one
        /// is noticed within 1.5 times it. 0 lets devices choose.
        keep_alive_s_max: u16 = 600, unit "s", in 0..=65_535, cost "vanished devices are believed alive for longer";
        /// Share by which the keep-alive that we tell is varied, so that devices do not ping in step.
        keep_alive_jitter_percent: u16 = 10, unit "percent", in 0..=50;
        /// When a device that is refused as busy should come back, at the earliest.
        busy_retry_after_s: u32 = 5, unit "s", in 1..=3_600;
        /// Pushes whose progress is kept for `GET /api/pushes`. The oldest is forgotten.
        pushes_max: u32 = 1_000, unit "pushes", in 1..=1_000_000, cost "about 4 KB of histogram each";
        /// Commands waiting for a loop. At the bound an HTTP push is answered busy.
        mailbox_max: u32 = 65_536, unit "commands", in 1_024..=16_777_216, cost "about 100 bytes each while they wait";
    }
}
