//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-membership-etcd --test integration failures::`.

mod documents;
mod failures;
mod fixture;
mod joining;
mod newer;
mod planning;
