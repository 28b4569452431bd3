//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-shard --test integration core::`.

mod cancelling;
mod core;
mod panics;
mod replay;
mod restored_memory;
mod scenery;
mod session_room;
mod spending;
mod stories;
mod telling;
mod trimming;
mod wallets;
