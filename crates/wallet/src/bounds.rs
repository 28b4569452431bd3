//! How much the wallets of one shard may hold.
//!
//! Every table of the machine has its bound here; bounds that do not depend on settings are
//! constants.

use crate::Milliseconds;

/// How much the wallets of one shard may hold. A command beyond a bound is answered Busy, and
/// nothing happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    /// Accounts. About 90 bytes of memory each.
    pub accounts_max: u32,
    /// Transfers whose ids are remembered, so that each is booked at most once; the oldest is forgotten. About 70 bytes each.
    pub transfers_remembered: u32,
    /// Open holds. About 250 bytes each.
    pub holds_max: u32,
    /// Transfers between shards that are not decided. About 500 bytes each.
    pub pending_max: u32,
    /// So long after the first record that no seal covers there is one.
    pub seal_after: Milliseconds,
}

impl Bounds {
    /// Transfers or accounts that one command may name.
    pub const ITEMS_MAX: usize = 1_000;
    /// The largest amount, and the furthest that a balance may be from zero.
    pub const AMOUNT_MAX: u64 = i64::MAX as u64;
    /// Bytes of a reference.
    pub const REFERENCE_BYTES_MAX: usize = 128;
    /// Bytes of a transfer's metadata.
    pub const METADATA_BYTES_MAX: usize = 1_024;
    /// The shortest hold.
    pub const HOLD_MIN: Milliseconds = 1_000;
    /// The longest hold: a year and a day.
    pub const HOLD_MAX: Milliseconds = 366 * 24 * 3_600_000;
    /// Assets.
    pub const ASSETS_MAX: usize = 1_000;
    /// Digits behind an asset's point.
    pub const SCALE_MAX: u8 = 18;
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            accounts_max: 50_000_000,
            transfers_remembered: 20_000_000,
            holds_max: 1_000_000,
            pending_max: 100_000,
            seal_after: 60_000,
        }
    }
}
