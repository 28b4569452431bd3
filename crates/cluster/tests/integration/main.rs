//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-cluster --test integration takeover::`.

mod archive;
mod books;
mod copies;
mod fixture;
mod forward;
mod lost_log;
mod takeover;
