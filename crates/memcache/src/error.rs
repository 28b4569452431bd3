//! The one error of the client. Each kind says who has to act.

use std::fmt;
use std::sync::Arc;

use crate::protocol::{CompressionError, KeyError, ProtocolError};
use crate::tls_error::TlsError;

/// Why an operation failed.
///
/// After [`Timeout`](Self::Timeout), [`Disconnected`](Self::Disconnected),
/// [`Protocol`](Self::Protocol) and [`Uncertain`](Self::Uncertain) a write may have happened, now
/// or later. After every other error it did not.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The bound on operations or on unsent bytes is reached. Try later, or slow down.
    Busy,
    /// The deadline passed.
    Timeout,
    /// There is no connection, or it ended before the answer came.
    Disconnected(Arc<str>),
    /// There is no connection, because the TLS session failed. Settings or certificates are wrong.
    Tls(TlsError),
    /// There is no connection: the server refused the user and the password, or wants some.
    Authentication(Arc<str>),
    /// `SERVER_ERROR`, such as "out of memory storing object": the server could not do it.
    Server(Arc<str>),
    /// `CLIENT_ERROR` or `ERROR`: the server refused the command.
    Client(Arc<str>),
    /// Some of a group of sets that were sent together failed with this text, and the server does not
    /// say which. This set was in the group.
    Uncertain(Arc<str>),
    /// The server broke the protocol. The connection was closed.
    Protocol(ProtocolError),
    /// The value is larger than [`Config::value_bytes_max`](crate::Config::value_bytes_max).
    TooLarge {
        /// Its bytes.
        bytes: usize,
        /// The bytes that are accepted.
        bytes_max: usize,
    },
    /// A compressed value cannot be read.
    Compression(CompressionError),
    /// The flags of a value have the bit that marks compressed ones,
    /// [`COMPRESSED`](crate::protocol::COMPRESSED).
    BadFlags {
        /// The flags.
        flags: u32,
    },
    /// No server accepts such a key.
    BadKey(KeyError),
    /// The server speaks the classic protocol only, which has no such operation.
    NeedsMeta(&'static str),
    /// A [`Format`](crate::Format) cannot read or write a value.
    Format(Arc<str>),
    /// The settings are wrong.
    Config(Arc<str>),
}

impl Error {
    /// True where the server or the network is to blame rather than this operation: another server may
    /// do better.
    pub fn is_of_server(&self) -> bool {
        matches!(
            self,
            Self::Timeout
                | Self::Disconnected(_)
                | Self::Tls(_)
                | Self::Authentication(_)
                | Self::Protocol(_)
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => write!(out, "too many operations or unsent bytes; try later"),
            Self::Timeout => write!(out, "the deadline passed"),
            Self::Disconnected(why) => write!(out, "no connection to the server: {why}"),
            Self::Tls(error) => write!(out, "no TLS session with the server: {error}"),
            Self::Authentication(text) => write!(out, "the server lets nobody in: {text}"),
            Self::Server(text) => write!(out, "the server could not do it: {text}"),
            Self::Client(text) => write!(out, "the server refused the command: {text}"),
            Self::Uncertain(text) => write!(out, "this set or one beside it failed: {text}"),
            Self::Protocol(error) => write!(out, "the server broke the protocol: {error}"),
            Self::TooLarge { bytes, bytes_max } => {
                write!(out, "the value has {bytes} bytes, {bytes_max} are accepted")
            }
            Self::Compression(error) => write!(out, "{error}"),
            Self::BadFlags { flags } => {
                write!(out, "the flags {flags:#x} have bit 28, which marks compressed values")
            }
            Self::BadKey(error) => write!(out, "{error}"),
            Self::NeedsMeta(what) => write!(out, "{what} needs the meta protocol, which the server lacks"),
            Self::Format(text) => write!(out, "the value cannot be converted: {text}"),
            Self::Config(text) => write!(out, "wrong settings: {text}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<CompressionError> for Error {
    fn from(error: CompressionError) -> Self {
        Self::Compression(error)
    }
}

impl From<KeyError> for Error {
    fn from(error: KeyError) -> Self {
        Self::BadKey(error)
    }
}

impl From<ProtocolError> for Error {
    fn from(error: ProtocolError) -> Self {
        Self::Protocol(error)
    }
}
