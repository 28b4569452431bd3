//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-journal --test integration conformance::`.

mod conformance;
#[path = "../crash_support/mod.rs"]
mod crash_support;
mod crashes;
mod folder;
mod fuzz;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/journal_decode.rs"]
mod journal_decode;
mod names;
mod repair;
mod shared_threads;
