//! `[wallet]`: how much the wallets may hold.
//!
//! Rules of one account are its own, given when it is opened; these hold for each shard.

use crate::settings::define::group;

group! {
    /// Bounds of the wallets, for each shard. Beyond one of them a command is answered busy, and
    /// nothing happens.
    pub struct Wallet {
        /// Accounts: one for each wallet and asset.
        accounts_max: u32 = 50_000_000, unit "accounts", in 1_000..=1_000_000_000, cost "about 90 bytes of memory each";
        /// Transfers whose ids are remembered, so that each is booked at most once and is found by its id. The oldest is forgotten: an id that
        /// is sent again after so many others is booked again.
        transfers_remembered: u32 = 20_000_000, unit "transfers", in 1_000..=1_000_000_000, cost "about 65 bytes of memory each";
        /// Open holds.
        holds_max: u32 = 1_000_000, unit "holds", in 1_000..=100_000_000, cost "about 250 bytes of memory each";
        /// Transfers between shards that are not decided.
        pending_max: u32 = 100_000, unit "transfers", in 100..=10_000_000, cost "about 500 bytes of memory each, and their texts";
        /// A shard's chain is sealed, and its root published, so long after the first transfer behind the last seal.
        seal_after_s: u32 = 60, unit "s", in 1..=86_400, cost "a transfer can be proved by a root so much later";
    }
}
