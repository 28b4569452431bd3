//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-journal-log --test integration allocation::`.

mod allocation;
mod fixtures;
mod fuzz;
#[expect(unreachable_pub, reason = "it is public in the crate fuzz/")]
#[path = "../../../../fuzz/src/log_messages.rs"]
mod log_messages;
mod messages;
mod owner;
mod reader;
mod script;
