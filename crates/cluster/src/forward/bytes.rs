//! The bytes of an item, in memory that a thread keeps.
//!
//! Shards' threads and callers' threads make them.

use std::cell::RefCell;

use stadium_links::Reply;
use stadium_queue::Refusal;
use stadium_shard_wire::{Item, encode};
use stadium_state_machine::rejected;

thread_local! {
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Bytes that a thread keeps for the next item.
const BYTES_KEPT: usize = 64 << 10;

/// Makes the bytes of an item.
pub(super) fn with_bytes<T>(item: &Item, then: impl FnOnce(&[u8]) -> T) -> Result<T, Refusal> {
    BYTES.with_borrow_mut(|bytes| {
        bytes.clear();
        encode(item, bytes).map_err(|error| rejected("CLU-213", error.to_string()))?;
        let result = then(bytes);
        bytes.shrink_to(BYTES_KEPT);
        Ok(result)
    })
}

/// Answers a request of another node with an item.
pub(super) fn answer_with(reply: Reply, item: &Item) {
    // One that has no bytes is dropped with its reply, and unknown.
    let _ = with_bytes(item, |body| reply.answer(body));
}
