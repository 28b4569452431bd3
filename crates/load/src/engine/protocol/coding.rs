//! Bodies that came compressed, RFC 9110, 8.4.1: they are expanded for checks and extractions, and only for those.
//!
//! Only a scenario that asks for it by `Accept-Encoding` gets such bodies. A body in an unknown
//! coding is left as it came.

use std::io::Read;

use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use stadium_http_client::Head;

use crate::engine::reply::Failure;

/// Bytes of a body that are kept for checks and extractions, after expansion.
pub(crate) const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// How a body was compressed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Not at all, or in a way that is not known here.
    #[default]
    Identity,
    Gzip,
    Deflate,
}

impl Coding {
    /// The one that an answer's head names.
    pub(crate) fn of(head: &Head<'_>) -> Self {
        match head.header("content-encoding") {
            Some(name) if name.eq_ignore_ascii_case(b"gzip") || name.eq_ignore_ascii_case(b"x-gzip") => {
                Coding::Gzip
            }
            Some(name) if name.eq_ignore_ascii_case(b"deflate") => Coding::Deflate,
            _ => Coding::Identity,
        }
    }

    /// Expands a body. An empty one, such as that of an answer to HEAD, stays empty.
    ///
    /// # Errors
    ///
    /// The body is damaged, or expands to more than [`BODY_BYTES_MAX`].
    pub(crate) fn expand(self, body: &mut Vec<u8>) -> Result<(), Failure> {
        if body.is_empty() || self == Coding::Identity {
            return Ok(());
        }
        let compressed = std::mem::take(body);
        let read = match self {
            Coding::Gzip => read(MultiGzDecoder::new(&compressed[..]), body),
            _ => read(ZlibDecoder::new(&compressed[..]), body),
        };
        match read {
            Ok(bytes) if bytes > BODY_BYTES_MAX => Err("answer too large".into()),
            Ok(_) => Ok(()),
            Err(_) => Err("malformed: content-encoding".into()),
        }
    }
}

/// Reads it all, or one byte more than is kept.
fn read(decoder: impl Read, into: &mut Vec<u8>) -> std::io::Result<usize> {
    decoder.take(BODY_BYTES_MAX as u64 + 1).read_to_end(into)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("memory takes all");
        encoder.finish().expect("memory takes all")
    }

    #[test]
    fn bodies_come_back_as_they_were() {
        let mut body = gzip(b"half ");
        body.extend(gzip(b"and half"));
        Coding::Gzip.expand(&mut body).expect("two members are one body");
        assert_eq!(body, b"half and half");

        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"deflated").expect("memory takes all");
        let mut body = encoder.finish().expect("memory takes all");
        Coding::Deflate.expand(&mut body).expect("zlib");
        assert_eq!(body, b"deflated");

        let mut body = Vec::new();
        Coding::Gzip.expand(&mut body).expect("of an answer to HEAD");
        assert!(body.is_empty());
    }

    #[test]
    fn what_is_damaged_or_a_bomb_is_refused() {
        let whole = gzip(&[7; 1_000]);
        for mut damaged in [whole[..whole.len() - 3].to_vec(), b"not compressed".to_vec()] {
            assert_eq!(Coding::Gzip.expand(&mut damaged), Err("malformed: content-encoding".into()));
        }
        let mut bomb = gzip(&vec![0; BODY_BYTES_MAX + 1]);
        assert!(bomb.len() < BODY_BYTES_MAX / 100);
        assert_eq!(Coding::Gzip.expand(&mut bomb), Err("answer too large".into()));
    }
}
