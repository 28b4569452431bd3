//! `[limits]`: the bound of everything that a device can make us hold or do.
//!
//! Every queue, table and rate of the edge has its row here, with what raising it costs, so that the memory of
//! a server is arithmetic. Bounds "of the server" are divided among its loops.

use crate::settings::define::group;

group! {
    /// Bounds of all that devices can make us hold or do. Over a bound the answer is the protocol's own, and it is
    /// counted.
    pub struct Limits {
        /// Devices connected to the server. One more is answered when to retry (server busy).
        connections_max: u32 = 1_000_000, unit "connections", in 1..=10_000_000,
            cost "about 0.5 KB each here (3 KB with TLS) and 5 KB in the kernel; a file descriptor each";
        /// Open connections from one address. 0 means no limit, for fleets behind carriers' address translation.
        connections_per_address_max: u32 = 0, unit "connections", in 0..=10_000_000;
        /// Connections accepted each second by each listener of the server; the rest wait in the kernel's queue. 0 means
        /// no limit.
        accepts_per_second: u32 = 0, unit "connections/s", in 0..=10_000_000;
        /// Connections accepted each second from one address; more are closed at once. 0 means no limit.
        accepts_per_address_per_second: u32 = 0, unit "connections/s", in 0..=1_000_000;
        /// CONNECTs answered each second by the server; the devices over it are answered when to
        /// retry (server busy). 0 means no limit.
        connects_per_second: u32 = 0, unit "devices/s", in 0..=10_000_000;
        /// The longest time that a device over `connects_per_second` or `connections_max` is asked
        /// to wait. Each gets another time between half of it and all of it, so that the herd does
        /// not come back as one.
        busy_retry_after_ms: u32 = 10_000, unit "ms", in 1..=3_600_000;
        /// TLS handshakes, WebSocket upgrades and PROXY headers in flight, of the server. At the bound new connections
        /// wait in the kernel's queue.
        handshakes_max: u32 = 8_192, unit "handshakes", in 1..=1_000_000,
            cost "up to 40 KB each while a TLS handshake runs";
        /// Largest CONNECT; a larger one is refused (0x95). The default takes the longest client id, user name, password, will topic and
        /// will message, 65,535 bytes each, and 64 KB of properties.
        before_auth_bytes: u32 = 393_216, unit "bytes", in 256..=1_048_576,
            cost "memory that anyone can make us hold, within `before_auth_total_bytes`";
        /// Bytes that the server holds of CONNECTs that are not authenticated yet. Those of at most 4,096 bytes are not counted: each
        /// connection may hold one. A device that finds no room is answered when to retry (server
        /// busy). 0 takes no CONNECT that is larger and comes in pieces.
        before_auth_total_bytes: u32 = 16_777_216, unit "bytes", in 0..=1_073_741_824, cost "memory that anyone can make us hold";
        /// Time from accept to the end of authentication.
        before_auth_ms: u32 = 10_000, unit "ms", in 100..=120_000, cost "slots held by those who never authenticate";
        /// Largest packet taken from a device, header included (Maximum Packet Size). The default takes a payload of 1 MiB with the longest
        /// topic, 65,535 bytes, and 64 KB of properties.
        packet_bytes_max: u32 = 1_179_648, unit "bytes", in 1_024..=268_435_455,
            cost "a connection may hold one partial packet of this size";
        /// Bytes waiting for a device that reads slower than it is sent to. Beyond it the device is cut as a slow reader; the largest
        /// packet (`packet_bytes_max`) must fit.
        write_queue_bytes_max: u32 = 2_097_152, unit "bytes", in 4_096..=1_073_741_824,
            cost "memory for each slow reader";
        /// Bytes waiting for a device beyond which messages at QoS 0 to it are dropped, and counted.
        congested_bytes: u32 = 524_288, unit "bytes", in 1_024..=1_073_741_824,
            cost "older messages for a slow reader";
        /// Longest time without progress while something is unsent, before the device is cut as a slow reader.
        write_stall_ms: u32 = 30_000, unit "ms", in 100..=3_600_000;
        /// Messages a device may publish each second, a second's worth at once; the excess waits in its socket. 0 means no
        /// limit.
        messages_per_second_per_connection: u32 = 0, unit "messages/s", in 0..=10_000_000;
        /// Bytes a device may send each second, a second's worth at once; the excess waits in its socket. 0 means no limit.
        bytes_per_second_per_connection: u32 = 0, unit "bytes/s", in 0..=1_073_741_824;
        /// QoS 2 messages an MQTT 5.0 device may have unreleased towards us (Receive Maximum). MQTT 3.1.1 has no such bound: there it
        /// is the 65,535 packet identifiers.
        receive_maximum: u16 = 256, unit "messages", in 1..=65_535, cost "state for each QoS 2 message in flight";
        /// Topic aliases a device may set up (Topic Alias Maximum). 0 means none.
        topic_alias_maximum: u16 = 32, unit "aliases", in 0..=65_535, cost "a topic name each, for each device that uses them";
        /// QoS 1 and 2 messages in flight towards a device; its own Receive Maximum may be lower.
        inflight_max: u16 = 1_024, unit "messages", in 1..=65_535, cost "a message held for each until it is acknowledged";
        /// QoS 1 and 2 messages that wait for a connected device whose window is full. The oldest is dropped, and counted.
        queued_max: u32 = 10_000, unit "messages", in 1..=10_000_000, cost "a message held for each";
        /// Subscriptions of one session. One more is refused with quota exceeded.
        subscriptions_per_session_max: u32 = 1_000, unit "subscriptions", in 1..=1_000_000,
            cost "about 100 bytes and the filter's length each";
        /// Levels of a topic name or filter. A topic with more is refused as invalid topic name, a filter as invalid topic filter.
        topic_levels_max: u32 = 128, unit "levels", in 1..=65_536, cost "about 60 bytes for each level of a filter with wildcards";
        /// Retained messages sent for one new subscription; the rest is left out, and counted. 0 sends all that match. They leave as fast
        /// as the device reads, in turns with other devices.
        retained_per_subscription_max: u32 = 0, unit "messages", in 0..=10_000_000,
            cost "traffic of this size for each subscription with a wildcard";
        /// Sessions of the server, with and without a connection. One more is refused as server busy.
        sessions_max: u32 = 2_000_000, unit "sessions", in 1..=20_000_000, cost "about 200 bytes and what is queued for each";
        /// Longest time that a session outlives its connection; a device asking for more gets this much.
        session_expiry_s_max: u32 = 86_400, unit "s", in 0..=4_294_967_295, cost "sessions of devices that never return";
        /// Messages kept for a device that is away. The oldest is dropped, and counted.
        session_messages_max: u32 = 1_000, unit "messages", in 1..=1_000_000;
        /// Bytes kept for one device that is away; the oldest messages go for one more. A message for many devices is
        /// held once and counted for each.
        session_bytes_max: u64 = 4_194_304, unit "bytes", in 1_024..=1_073_741_824;
        /// Messages kept for all devices that are away. At the bound a device's own oldest is dropped, or the new one.
        away_messages_max: u32 = 10_000_000, unit "messages", in 64..=1_000_000_000,
            cost "about 100 bytes each, and each different message once";
        /// Retained messages of the server. One more is refused with quota exceeded; those whose time is over go first.
        retained_messages_max: u32 = 100_000, unit "messages", in 0..=100_000_000, cost "about 200 bytes and the message each";
        /// Bytes of retained messages: topics, properties and payloads.
        retained_bytes_max: u64 = 268_435_456, unit "bytes", in 0..=1_099_511_627_776, cost "as much memory";
        /// Retained messages of one principal, on all its devices together. One more is refused
        /// with quota exceeded. Devices that are anonymous have one quota together. Pushes of the
        /// HTTP API have none.
        retained_messages_per_principal_max: u32 = 10_000, unit "messages", in 0..=100_000_000,
            cost "one principal takes so much of retained_messages_max";
        /// Bytes of the retained messages of one principal: topics, properties and payloads.
        retained_bytes_per_principal_max: u64 = 33_554_432, unit "bytes", in 0..=1_099_511_627_776,
            cost "one principal takes so much of retained_bytes_max";
        /// Longest keep-alive. An MQTT 5.0 device that asks for more, or for none, is given this one less up to a fifth, at random (Server
        /// Keep Alive), so that the timers of a fleet do not fire together. A device that vanished is noticed within 1.5 times it. MQTT 3.1.1
        /// has no field for it: such a device keeps what it asked for. 0 lets every device choose.
        keep_alive_s_max: u16 = 600, unit "s", in 0..=65_535, cost "vanished devices are believed alive for longer";
        /// Live pushes whose records are kept. The oldest is forgotten.
        pushes_max: u32 = 1_024, unit "pushes", in 1..=1_000_000, cost "about 25 KB of histograms each";
        /// Commands and messages waiting for a loop. At the bound an HTTP push is answered busy.
        mailbox_max: u32 = 65_536, unit "commands", in 1_024..=16_777_216, cost "about 100 bytes each while they wait";
        /// Publications of a loop waiting for room in another loop's mailbox, before publishers are read more slowly.
        forwards_waiting_max: u32 = 65_536, unit "publications", in 1_024..=16_777_216, cost "a message each while they wait";
    }
}
