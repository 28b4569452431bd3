//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-scenario --test integration allocations::`.

mod allocations;
mod never_panics;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/scenario_text.rs"]
mod scenario_text;
mod schema;
