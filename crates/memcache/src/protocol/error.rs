//! Ways in which a server breaks its protocol.
//!
//! After any of them the connection is of no use: the beginning of the next answer is unknown.

use std::fmt;

/// An answer that no memcached server gives.
///
/// The connection has to be closed: the place where the next answer begins is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProtocolError {
    /// A line is longer than [`LINE_BYTES_MAX`](super::LINE_BYTES_MAX).
    LineTooLong,
    /// A line ends in `\n` without `\r`, or a data block does not end in `\r\n`.
    BadLineEnd,
    /// The first word of a line is none of the protocol's.
    UnknownAnswer,
    /// A field of a line is missing, is not a number, or is greater than its type.
    BadField,
    /// A data block is longer than the reader accepts.
    ValueTooLong {
        /// Bytes that the server announced.
        bytes: u64,
        /// Bytes that are accepted.
        bytes_max: usize,
    },
    /// The answer belongs to another kind of command than the one whose turn it is.
    UnexpectedAnswer,
    /// No command waits for an answer.
    UnsolicitedAnswer,
    /// The opaque token is not the one that was sent.
    OpaqueMismatch,
    /// A value for a key that was not asked for.
    KeyMismatch,
    /// More errors than commands.
    TooManyErrors,
    /// The statistics take more than [`STATISTIC_BYTES_MAX`](super::STATISTIC_BYTES_MAX).
    StatisticsTooLong,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineTooLong => write!(out, "a line of an answer is too long"),
            Self::BadLineEnd => write!(out, "a line or a data block does not end in CR LF"),
            Self::UnknownAnswer => write!(out, "an answer begins with an unknown word"),
            Self::BadField => write!(out, "a field of an answer is missing or malformed"),
            Self::ValueTooLong { bytes, bytes_max } => {
                write!(out, "a value of {bytes} bytes was announced, {bytes_max} are accepted")
            }
            Self::UnexpectedAnswer => write!(out, "an answer belongs to another kind of command"),
            Self::UnsolicitedAnswer => write!(out, "an answer that no command waits for"),
            Self::OpaqueMismatch => write!(out, "an answer has the opaque token of another command"),
            Self::KeyMismatch => write!(out, "a value has a key that was not asked for"),
            Self::TooManyErrors => write!(out, "more errors than commands"),
            Self::StatisticsTooLong => write!(out, "the statistics are too long"),
        }
    }
}

impl std::error::Error for ProtocolError {}
