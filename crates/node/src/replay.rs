//! Whether a shard's folder would start, without a start: for `stadium journal verify` and `repair`.
//!
//! The records go through the state machines themselves ([`stadium_shard::replay`]); nothing is changed.

use std::path::Path;

use stadium_shard::Error;

pub use stadium_shard::{Contents, Replayed, record_time};

/// Why a start would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Of the record, or of the checkpoint, that cannot be applied; none where it is something else.
    pub position: Option<u64>,
    /// What is wrong with it.
    pub what: String,
    /// The reason, as a start reports it, with its code.
    pub message: String,
}

/// Replays a shard of the directory of all shards.
///
/// # Errors
///
/// What a start would refuse with.
pub fn replay(directory: &Path, shard: u16) -> Result<Replayed, Refused> {
    stadium_shard::replay(directory, shard).map_err(|error| {
        let message = error.to_string();
        match error {
            Error::Corrupt { position, what } => Refused { position: Some(position.0), what, message },
            _ => Refused { position: None, what: message.clone(), message },
        }
    })
}
