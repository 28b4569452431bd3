//! The bounds of each state machine of a shard.

/// How much each state machine of a shard may hold.
#[derive(Debug, Clone, Default)]
pub struct MachineBounds {
    /// Of the queues.
    pub queue: stadium_queue::Bounds,
    /// Of the wallets.
    pub wallet: stadium_wallet::Bounds,
    /// Of the push platform.
    pub push: stadium_push::Bounds,
    /// How many MQTT sessions and retained messages there may be.
    pub session: stadium_session::Bounds,
}
