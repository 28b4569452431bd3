//! memcached's protocols as pure functions: bytes in, bytes out, no I/O and no clock.
//!
//! Both text protocols are here, the meta one (`mg`, `ms`, `md`, `ma`, `mn`) and the classic one
//! (`get`, `set`, `incr` and so on). Functions such as [`store`] write commands. [`decode()`]
//! reads one answer from the beginning of the received bytes, and [`Pipeline`] assigns answers to
//! operations. Source: `doc/protocol.txt` of memcached 1.6.

mod compression;
mod datagram;
mod decode;
mod encode;
mod error;
mod flags;
mod key;
mod pipeline;

pub use compression::{COMPRESSED, CompressionError, compress, decompress};
pub use datagram::{DATAGRAM_HEADER_BYTES, Datagram, Reassembly, datagram_header};
pub use decode::{LINE_BYTES_MAX, Limits, Response, STATISTIC_BYTES_MAX, decode};
pub use encode::{
    Arithmetic, Dialect, Direction, META_NOOP, Mode, Removal, Retrieval, Store, arithmetic, delete, get,
    meta_get, stats, store, touch, version,
};
pub use error::ProtocolError;
pub use flags::Flags;
pub use key::{KEY_BYTES_MAX, Key, KeyError};
pub use pipeline::{Answer, Expect, Outcome, Pipeline, Refusal, Sink, Verb};
