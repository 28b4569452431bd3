//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-load --test integration engine_honesty::`.

#[path = "../broker/mod.rs"]
mod broker;
mod engine_honesty;
mod engine_mqtt;
mod engine_rsocket;
mod engine_web;
mod profiles;
mod stub;
mod users;
mod web;
