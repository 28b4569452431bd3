//! `[session]`: how much the shards keep of MQTT sessions and retained messages.
//!
//! The bounds of one session are in `[limits]`; these hold for each shard.

use crate::settings::define::group;

group! {
    /// Bounds of the sessions that outlive their connections and of retained messages, for each
    /// shard. Beyond one of them a device is refused in the protocol's words, and nothing happens.
    pub struct Session {
        /// Sessions. A connection that would make one more is answered that the server is busy.
        sessions_max: u32 = 1_000_000, unit "sessions", in 1_000..=100_000_000, cost "about 200 bytes of memory each, and their subscriptions";
        /// Messages owed to all sessions, counted for each. A publish that would be owed beyond it is refused with quota exceeded.
        letters_max: u32 = 4_000_000, unit "messages", in 1_000..=1_000_000_000, cost "about 40 bytes of memory each";
        /// Bytes of the messages that are owed, each counted once. One more is refused likewise.
        message_bytes_max: u64 = 1_073_741_824, unit "bytes", in 1_048_576..=1_099_511_627_776, cost "as much memory";
        /// Topics with a retained message. One more is refused likewise.
        retained_max: u32 = 1_000_000, unit "topics", in 1_000..=100_000_000, cost "about 200 bytes and the message each";
        /// Bytes of retained messages. One more is refused likewise.
        retained_bytes_max: u64 = 268_435_456, unit "bytes", in 1_048_576..=1_099_511_627_776, cost "as much memory";
        /// Publishes at QoS 2 that are remembered for publishers of other shards until they release them. The oldest is forgotten.
        origins_max: u32 = 1_000_000, unit "publishes", in 1_000..=100_000_000, cost "about 100 bytes of memory each, and 8 for each receiver";
    }
}
