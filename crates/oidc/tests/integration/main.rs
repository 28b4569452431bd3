//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-oidc --test integration login::`.

mod browser;
mod hostile;
mod login;
mod provider;
