//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-http --test integration api::`.

mod api;
#[path = "support/browser.rs"]
mod browser;
mod cluster;
mod cluster_page;
mod connections;
mod jobs;
mod live_page;
mod operators;
mod own_rights;
mod platform_page;
mod platform_pushes;
#[path = "../../../oidc/tests/integration/provider.rs"]
mod provider;
mod queues;
mod queues_page;
mod registered_devices;
mod retained;
mod rights;
mod sign_in;
mod support;
mod topics;
#[path = "../../../oidc/tests/integration/browser.rs"]
mod walk;
mod wallets;
mod wallets_page;
mod webpush;
