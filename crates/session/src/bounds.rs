//! How much a shard keeps of sessions. A session's own bounds are the broker's business, which
//! drops its oldest deliveries.

/// Bounds of one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Sessions; a connection that would make one more is answered that the server is busy.
    pub sessions_max: u32,
    /// Deliveries owed to all sessions; a publish that would be owed beyond it is refused with
    /// Quota exceeded.
    pub deliveries_max: u32,
    /// Bytes of the messages that are owed, each counted once; one more is refused likewise.
    pub message_bytes_max: u64,
    /// Topics with a retained message; one more is refused likewise.
    pub retained_max: u32,
    /// Bytes of the retained messages; one more is refused likewise.
    pub retained_bytes_max: u64,
    /// Publishes at QoS 2 that are remembered for a publisher of another shard until it releases
    /// them. For one more the oldest is forgotten. All of them together have as many receivers as
    /// there may be deliveries; beyond that the oldest are forgotten too.
    pub origins_max: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            sessions_max: 1_000_000,
            deliveries_max: 4_000_000,
            message_bytes_max: 1 << 30,
            retained_max: 1_000_000,
            retained_bytes_max: 256 << 20,
            origins_max: 1_000_000,
        }
    }
}
