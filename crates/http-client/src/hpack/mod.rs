//! HPACK: how HTTP/2 compresses header lists, RFC 7541.
//!
//! [`Decoder`] and [`Encoder`] each keep a dynamic [`Table`](table::Table), which is the peer's at the same point of
//! the byte stream: every block must pass through them, in order, whatever becomes of its stream.

mod decode;
mod encode;
mod huffman;
mod integer;
mod statics;
mod table;

pub(crate) use decode::{Decoder, Fields, Refused};
pub(crate) use encode::Encoder;

/// The size of a dynamic table until a peer announces another one, RFC 9113, 6.5.2: what we
/// announce and the most we use.
pub(crate) const TABLE_BYTES: usize = 4096;

/// What a field counts beside its name and value, 4.1.
const FIELD_BYTES: usize = 32;

/// Bytes out of their hexadecimal digits, blanks between them left out.
#[cfg(test)]
pub(crate) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let byte =
        |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("digits");
    digits.chunks(2).map(byte).collect()
}
