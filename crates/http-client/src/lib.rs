//! HTTP from the client's side, without I/O: HTTP/1.1, HTTP/2 and event streams.
//!
//! It takes bytes and returns bytes and events; sockets, TLS and time are its user's. Both versions report the same
//! [`Event`]s, borrowed from the bytes that came, and take the same [`Request`]. Nothing is allocated for an exchange
//! once the buffers are warm.

mod event;
pub mod h1;
pub mod h2;
mod hpack;
mod malformed;
mod request;
pub mod sse;

pub use event::{Event, Head, Header, Processed, Version, find_header, has_token};
pub use h1::{Asked, H1};
pub use h2::{H2, H2Settings, NotSent, StreamId};
pub use malformed::Malformed;
pub use request::{Request, Unsendable, write_request};
pub use sse::{EventStream, ServerEvent};

/// The longest head, and the longest trailer section, that is taken, in bytes; for HTTP/2, the sum of RFC 9113, 6.5.2.
///
/// Servers send a few hundred bytes; anything longer is an attack or a fault.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The most header lines that one head is taken with.
pub const HEADERS_MAX: usize = 256;
