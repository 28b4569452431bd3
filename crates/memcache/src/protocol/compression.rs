//! Compressed values: zlib (RFC 1950), marked by [`COMPRESSED`] in the client's flags.
//!
//! A value that does not become smaller is stored as it is, without the flag. The bytes after
//! decompression are bounded by the reader, so a small value cannot take much memory.

use std::fmt;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// The flag of a compressed value: bit 28 of the client's flags.
///
/// The classic protocol has 32 bits of flags. Bits 0 to 15 are used by serialisers of other clients.
pub const COMPRESSED: u32 = 1 << 28;

/// Compression that costs little time: values are small, and the network is near.
const LEVEL: u32 = 2;

/// Growth of the output with each step, at first: most values compress less than fourfold.
const RATIO: usize = 4;

/// A compressed value that cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompressionError {
    /// It is no zlib stream, it is cut, its checksum differs, or bytes follow it: an `append` or a
    /// `prepend` changed a compressed value, or another client uses the flag for something else.
    Damaged,
    /// It has more bytes than the reader accepts.
    TooLong {
        /// The bytes that are accepted.
        bytes_max: usize,
    },
}

impl fmt::Display for CompressionError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged => write!(out, "the compressed value is damaged"),
            Self::TooLong { bytes_max } => {
                write!(out, "the compressed value has more than the {bytes_max} bytes that are accepted")
            }
        }
    }
}

impl std::error::Error for CompressionError {}

/// The value as one zlib stream; `None` where that is not smaller.
pub fn compress(value: &[u8]) -> Option<Vec<u8>> {
    // The room is what may be used: a stream that does not fit is not smaller.
    let mut out = Vec::with_capacity(value.len().saturating_sub(1));
    let status = Compress::new(Compression::new(LEVEL), true)
        .compress_vec(value, &mut out, FlushCompress::Finish)
        .ok()?;
    (status == Status::StreamEnd && out.len() < value.len()).then_some(out)
}

/// The bytes of one zlib stream.
///
/// # Errors
///
/// [`CompressionError`]: it is damaged, or has more than `bytes_max` bytes.
pub fn decompress(stream: &[u8], bytes_max: usize) -> Result<Vec<u8>, CompressionError> {
    let mut state = Decompress::new(true);
    let mut out = Vec::with_capacity(stream.len().saturating_mul(RATIO).min(bytes_max));
    loop {
        let taken = usize::try_from(state.total_in()).map_err(|_| CompressionError::Damaged)?;
        let before = (taken, out.len());
        let status = state
            .decompress_vec(&stream[taken..], &mut out, FlushDecompress::None)
            .map_err(|_| CompressionError::Damaged)?;
        let after = state.total_in() as usize;
        // A vector may have more room than it was asked for.
        if out.len() > bytes_max {
            return Err(CompressionError::TooLong { bytes_max });
        }
        if status == Status::StreamEnd {
            return if after == stream.len() { Ok(out) } else { Err(CompressionError::Damaged) };
        }
        if out.len() < out.capacity() && (after, out.len()) == before {
            return Err(CompressionError::Damaged);
        }
        if out.len() == out.capacity() {
            // One more than what is accepted shows that there is more.
            let room = out.len().max(64).min((bytes_max + 1).saturating_sub(out.len())).max(1);
            out.reserve_exact(room);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_those_that_do_not_shrink_are_left() {
        for value in [b"a".repeat(100), b"abcdefgh".repeat(20_000), vec![0; 1 << 20]] {
            let stream = compress(&value).expect("it shrinks");
            assert!(stream.len() < value.len());
            assert_eq!(decompress(&stream, value.len()), Ok(value.clone()));
            let bytes_max = value.len() - 1;
            assert_eq!(decompress(&stream, bytes_max), Err(CompressionError::TooLong { bytes_max }));
        }
        let mut random = fastrand::Rng::with_seed(1);
        let noise: Vec<u8> = (0..5_000).map(|_| random.u8(..)).collect();
        assert_eq!(compress(&noise), None);
        assert_eq!(compress(b""), None);
    }

    #[test]
    fn a_bomb_takes_no_more_memory_than_is_accepted() {
        let bomb = compress(&vec![0; 64 << 20]).expect("zeroes shrink");
        assert!(bomb.len() < 1 << 20);
        assert_eq!(decompress(&bomb, 1 << 20), Err(CompressionError::TooLong { bytes_max: 1 << 20 }));
    }

    #[test]
    fn every_damage_is_an_error() {
        let value = b"some text, ".repeat(50);
        let stream = compress(&value).expect("it shrinks");
        for cut in 0..stream.len() {
            assert_eq!(decompress(&stream[..cut], 10_000), Err(CompressionError::Damaged), "{cut}");
        }
        assert_eq!(decompress(&[&stream[..], b"x"].concat(), 10_000), Err(CompressionError::Damaged));
        assert_eq!(decompress(&[b"x", &stream[..]].concat(), 10_000), Err(CompressionError::Damaged));
        for at in 0..stream.len() {
            let mut changed = stream.clone();
            changed[at] ^= 0x10;
            // Some bits only pad a byte; a checksum guards all others.
            if let Ok(read) = decompress(&changed, 10_000) {
                assert_eq!(read, value, "{at}");
            }
        }
    }
}
