//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-membership --test integration planner::`.

mod etcd;
mod planner;
mod simulation;
mod succession;
