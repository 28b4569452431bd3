//! What the services over the shards do alike with a request: gather its bytes, read its names, tell refusals.
//!
//! Their methods are served as uploads, so a request comes in pieces; mostly it is one.

use std::time::Duration;

use stadium_queue::InvalidName;
use stadium_rpc::{PieceReceiver, Refusal};

/// The bytes of a request, so many at most; beyond them `too_many` says why it is refused.
pub(super) async fn whole(
    pieces: &PieceReceiver,
    bytes_max: usize,
    too_many: fn() -> Refusal,
) -> Result<Vec<u8>, Refusal> {
    let mut bytes = pieces.next().await.unwrap_or_default();
    while let Some(piece) = pieces.next().await {
        if bytes.len() + piece.len() > bytes_max {
            return Err(too_many());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// A name that was checked, or what is wrong with it.
pub(super) fn named<Name>(name: Result<Name, InvalidName>) -> Result<Name, Refusal> {
    name.map_err(|error| wrong(error.to_string()))
}

/// What was said, where zero says nothing.
pub(super) fn said<Number: Default + PartialEq>(number: Number) -> Option<Number> {
    (number != Number::default()).then_some(number)
}

/// What the shards refuse, as callers hear it.
pub(super) fn refusal(refusal: stadium_queue::Refusal) -> Refusal {
    match refusal {
        // It may have happened: whoever is told Busy asks again at once.
        stadium_queue::Refusal::Busy { code: stadium_shard::UNKNOWN, reason, .. } => {
            Refusal::rejected(stadium_shard::UNKNOWN, reason)
        }
        stadium_queue::Refusal::Busy { code, retry_after, reason } => {
            Refusal::busy(Duration::from_millis(retry_after), format!("{reason} ({code})"))
        }
        stadium_queue::Refusal::Rejected { code, reason } => Refusal::rejected(code, reason),
    }
}

/// A field of the request is wrong.
pub(super) fn wrong(reason: String) -> Refusal {
    Refusal::rejected("NODE-010", reason)
}

/// The request is no message.
pub(super) fn unreadable(error: &prost::DecodeError) -> Refusal {
    wrong(format!("the request cannot be read: {error}"))
}

/// A shard that answers what was not asked is a mistake of ours, and says so instead of guessing.
pub(super) fn strange() -> Refusal {
    tracing::error!("A shard's answer is of another kind than its command");
    Refusal::rejected(
        "NODE-011",
        "the shard's answer is of another kind than the request; it may have happened",
    )
}
