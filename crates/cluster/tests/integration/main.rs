//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-cluster --test integration takeover::`.
//!
//! `nodes` runs nodes as processes, on three real brokers that its tests share and an etcd for each.

mod archive;
mod books;
mod fixture;
mod forward;
mod lost_log;
mod nodes;
mod takeover;
