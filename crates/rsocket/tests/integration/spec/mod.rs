//! The statements of RSocket 1.0 as short scenarios.
//!
//! The doc comment of a scenario carries the names of the statements that it shows, as `[SETUP-2]`.
//! The specification does not number them: docs/rsocket.md does, and `index.rs` holds page and
//! scenarios together. The scenarios drive one connection without sockets, on a virtual clock, and
//! see each frame it sends.

mod channel;
mod errors;
mod fragments;
mod framing;
mod ids;
mod index;
mod keepalive;
mod lease;
mod metadata;
mod request;
mod resume;
mod setup;
mod stream;
mod support;
mod unexpected;
