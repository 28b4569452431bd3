//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-journal-replicated --test integration conformance::`.

mod allocation;
mod conformance;
mod crashes;
mod faults;
mod fixtures;
mod full;
mod lost;
mod place;
mod roles;
