//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-wallet --test integration allocations::`.

mod allocations;
mod format;
mod fuzz;
mod harness;
mod house;
mod model;
mod principals;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/random.rs"]
mod random;
mod rules;
mod two_phase;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/wallet_events.rs"]
mod wallet_events;
