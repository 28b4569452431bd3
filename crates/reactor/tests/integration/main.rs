//! The integration tests of this crate, one program: each module is a suite, and its name
//! a filter, as in `cargo test -p stadium-reactor --test integration connections::`.

mod connections;
mod driven;
mod ended;
#[path = "../fixture/mod.rs"]
mod fixture;
mod severed;
mod tls;
mod websocket;
mod websocket_messages;
