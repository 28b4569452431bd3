//! The integration tests of this crate, one program: each module is a suite.

mod allocations;
mod fuzz;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/shard_items.rs"]
mod shard_items;
