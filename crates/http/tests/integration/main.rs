//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-http --test integration api::`.

mod api;
#[path = "support/browser.rs"]
mod browser;
mod connections;
mod jobs;
mod live_page;
mod platform_page;
mod platform_pushes;
mod queues;
mod queues_page;
mod registered_devices;
mod retained;
mod rights;
mod support;
mod wallets;
mod wallets_page;
mod webpush;
