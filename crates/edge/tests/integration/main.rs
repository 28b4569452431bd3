//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-edge --test integration auth_policy::`.

mod auth;
mod auth_policy;
mod credentials;
mod edge;
mod requests;
#[path = "../support/mod.rs"]
mod support;
mod topic_rights;
