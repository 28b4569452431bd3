//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-shard --test integration core::`.

mod backlog;
mod behaviours;
mod cancelling;
mod core;
mod direct;
mod fixture;
mod given_back;
mod moving;
mod outcomes;
mod panics;
mod reads;
mod replay;
mod restored_memory;
mod session_room;
mod sharing;
mod spending;
mod trimming;
mod wallets;
