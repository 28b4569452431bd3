//! Tables of entries that are saved exactly as they stood at one time while they go on changing.
//!
//! A [`Table`] is a slab: entries in pages, found by a `u32`, inserted and removed in O(1). A
//! *checkpoint* begins at one time and is then encoded in small slices, as slowly as its caller
//! likes; an entry that is about to change before its turn came is encoded first. So a checkpoint
//! holds the state at its beginning, without a fork and without a pause. An [`Order`] keeps numbers
//! of entries in an order that their owner knows. No I/O here: bytes go to the caller's buffer.

mod entry;
mod index;
mod order;
mod paged;
mod sparse;
mod table;

pub use entry::{Damaged, Divided, Entry, take};
pub use index::{Index, hash_of};
pub use order::Order;
pub use paged::Paged;
pub use table::{PAGE_ENTRIES, Restored, Table};
