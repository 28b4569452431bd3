//! The figures of a shard's state: how much each state machine holds.
//!
//! A replay reports them, so that two states can be compared.

/// The contents of a shard's state machines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contents {
    /// Jobs, in whatever state.
    pub jobs: u64,
    /// Wallets.
    pub accounts: u64,
    /// Apps whose home is here.
    pub apps: u64,
    /// Registered devices.
    pub devices: u64,
    /// MQTT sessions.
    pub sessions: u64,
    /// Retained messages.
    pub retained: u64,
    /// The seals over the wallets' books that are in memory, oldest first.
    pub seals: Vec<stadium_wallet::Seal>,
}
