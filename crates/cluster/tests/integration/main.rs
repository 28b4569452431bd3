//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-cluster --test integration takeover::`.

mod fixture;
mod takeover;
