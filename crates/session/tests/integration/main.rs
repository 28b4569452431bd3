//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-session --test integration format::`.

#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/damage.rs"]
mod damage;
mod format;
mod fuzz;
mod machine;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/random.rs"]
mod random;
mod replay;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/session_events.rs"]
mod session_events;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/state_machine.rs"]
mod state_machine;
