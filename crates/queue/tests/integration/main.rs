//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-queue --test integration allocations::`.

mod allocations;
mod behaviours;
mod driver;
mod format;
mod fuzz;
mod harness;
mod memory;
mod model;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/queue_events.rs"]
mod queue_events;
