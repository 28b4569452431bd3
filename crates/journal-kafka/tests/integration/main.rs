//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-journal-kafka --test integration faults::`.
//!
//! All suites but `security` share three real brokers. Tests that stop brokers hold them alone.

mod contract;
mod faults;
mod security;
mod stage;
mod topic;
