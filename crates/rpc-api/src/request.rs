//! The common parts of the services over the shards: collect a request's bytes, read its names,
//! report refusals.
//!
//! Their methods are served as uploads, so a request comes in pieces; mostly it is one.

use std::time::Duration;

use stadium_queue::InvalidName;
use stadium_rpc::{PieceReceiver, Refusal};

/// The bytes of a request, so many at most; beyond them `too_many` is the refusal.
pub(crate) async fn whole(
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

/// A name that was checked, or the refusal.
pub(crate) fn named<Name>(name: Result<Name, InvalidName>) -> Result<Name, Refusal> {
    name.map_err(|error| wrong(error.to_string()))
}

/// The number, where zero means that none was given.
pub(crate) fn given<Number: Default + PartialEq>(number: Number) -> Option<Number> {
    (number != Number::default()).then_some(number)
}

/// A refusal of the shards, as callers get it. A code and its meaning are alike over HTTP and RPC:
/// docs/rpc.md.
pub(crate) fn refusal(refusal: stadium_queue::Refusal) -> Refusal {
    match refusal {
        stadium_queue::Refusal::Busy { code, retry_after, reason } => {
            Refusal::busy(Duration::from_millis(retry_after), format!("{reason} ({code})"))
        }
        stadium_queue::Refusal::Rejected { code, reason } => Refusal::rejected(code, reason),
        stadium_queue::Refusal::Unknown { code, reason, .. } => Refusal::unknown(code, reason),
    }
}

/// The same for one item of a list, as in the messages of all services: the code, the reason, after
/// how many milliseconds to ask again, and whether it may have happened. Zero milliseconds mean
/// that it will never work.
pub(crate) fn of_an_item(refusal: stadium_queue::Refusal) -> (String, String, u64, bool) {
    let (code, is_unknown) = (refusal.code().to_owned(), refusal.is_unknown());
    let retry_after_ms = refusal.retry_after().map_or(0, |retry_after| retry_after.max(1));
    (code, refusal.reason().to_owned(), retry_after_ms, is_unknown)
}

/// A field of the request is wrong.
pub(crate) fn wrong(reason: String) -> Refusal {
    Refusal::rejected("NODE-010", reason)
}

/// The request is no message.
pub(crate) fn unreadable(error: &prost::DecodeError) -> Refusal {
    wrong(format!("the request cannot be read: {error}"))
}

/// An answer to another question is a mistake of ours, and is reported instead of guessed at.
pub(crate) fn strange() -> Refusal {
    tracing::error!("A shard's answer is of another kind than its command");
    Refusal::unknown(
        "NODE-011",
        "the shard's answer is of another kind than the request; it may have happened",
    )
}

#[cfg(test)]
mod tests {
    use stadium_queue::Refusal as OfShard;
    use stadium_rpc::Refusal;

    use super::{of_an_item, refusal, strange};

    #[test]
    fn each_outcome_of_a_shard_keeps_its_meaning() {
        let reason = || "the disk is full".to_owned();
        let busy = OfShard::Busy { code: "SHARD-002", retry_after: 20, reason: reason() };
        let rejected = OfShard::Rejected { code: "WAL-023", reason: reason() };
        for code in [stadium_shard::UNKNOWN, stadium_wallet::refusal::PENDING] {
            let unknown = OfShard::Unknown { code, retry_after: 20, reason: reason() };
            assert_eq!(of_an_item(unknown.clone()), (code.to_owned(), reason(), 20, true));
            assert!(matches!(refusal(unknown), Refusal::Unknown { code: given, .. } if given == code));
        }
        assert_eq!(of_an_item(busy.clone()), ("SHARD-002".to_owned(), reason(), 20, false));
        assert_eq!(of_an_item(rejected.clone()), ("WAL-023".to_owned(), reason(), 0, false));
        assert!(matches!(refusal(busy), Refusal::Busy { reason, .. } if reason.ends_with("(SHARD-002)")));
        assert!(matches!(refusal(rejected), Refusal::Rejected { code, .. } if code == "WAL-023"));
    }

    #[test]
    fn an_answer_of_another_kind_does_not_mean_that_nothing_happened() {
        assert!(matches!(strange(), Refusal::Unknown { code, .. } if code == "NODE-011"));
    }
}
