//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-push --test integration allocations::`.

mod allocations;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/damage.rs"]
mod damage;
mod fuzz;
mod platform;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/push_events.rs"]
mod push_events;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/random.rs"]
mod random;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/state_machine.rs"]
mod state_machine;
