//! Why bytes are no frame, and the error codes that ERROR frames carry.

use std::fmt;

use super::FRAME_BYTES_MAX;

/// Why bytes are no frame of RSocket 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    /// The length before the frame is greater than the reader allows.
    TooLarge {
        /// The value of the length, in bytes.
        bytes: u32,
    },
    /// The frame ends before a field of its type.
    TooShort,
    /// The upper bit of a 31-bit field is set.
    Reserved,
    /// The metadata's length goes beyond the frame. Such a frame is to be ignored (Metadata Optional Header).
    MetadataLength,
    /// A type that RSocket 1.0 does not have.
    UnknownType {
        /// The type, six bits.
        kind: u8,
        /// Whether the sender marked it as one that can be ignored.
        ignorable: Ignorable,
    },
    /// SETUP with a keep-alive interval or a lifetime of 0.
    ZeroTime,
    /// REQUEST_STREAM, REQUEST_CHANNEL or REQUEST_N that asks for nothing, or for more than 2^31-1.
    RequestN,
}

/// Whether a frame that is not understood may be ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignorable {
    /// Its ignore flag is set.
    Yes,
    /// It is not.
    No,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge { bytes } => write!(f, "frame of {bytes} bytes is too large"),
            Self::TooShort => f.write_str("frame ends before its fields do"),
            Self::Reserved => f.write_str("reserved bit is set"),
            Self::MetadataLength => f.write_str("metadata is longer than its frame"),
            Self::UnknownType { kind, .. } => write!(f, "frame type {kind:#04x} is not known"),
            Self::ZeroTime => f.write_str("keep-alive interval and lifetime must be more than 0"),
            Self::RequestN => f.write_str("request n is not between 1 and 2147483647"),
        }
    }
}

impl std::error::Error for Error {}

/// The kind of failure that an ERROR frame reports.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub u32);

impl ErrorCode {
    /// The SETUP cannot be read, or is of another version. Connection.
    pub const INVALID_SETUP: Self = Self(0x001);
    /// The SETUP asks for what the server does not do. Connection.
    pub const UNSUPPORTED_SETUP: Self = Self(0x002);
    /// The server refuses. Connection.
    pub const REJECTED_SETUP: Self = Self(0x003);
    /// The session cannot be resumed, and the client must not try again. Connection.
    pub const REJECTED_RESUME: Self = Self(0x004);
    /// The connection is broken and ends now. Connection.
    pub const CONNECTION_ERROR: Self = Self(0x101);
    /// The connection ends when its streams have ended; no new ones. Connection.
    pub const CONNECTION_CLOSE: Self = Self(0x102);
    /// The application failed. Stream.
    pub const APPLICATION_ERROR: Self = Self(0x201);
    /// The responder has not touched the request. Stream.
    pub const REJECTED: Self = Self(0x202);
    /// The responder stopped working on the request. Stream.
    pub const CANCELED: Self = Self(0x203);
    /// The request cannot be read. Stream.
    pub const INVALID: Self = Self(0x204);

    /// Whether it is one of the codes that answer a SETUP or a RESUME.
    #[inline]
    pub const fn is_of_setup(self) -> bool {
        matches!(self.0, 1..=0xFF)
    }

    /// The specification's name, where it gives one.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::INVALID_SETUP => "INVALID_SETUP",
            Self::UNSUPPORTED_SETUP => "UNSUPPORTED_SETUP",
            Self::REJECTED_SETUP => "REJECTED_SETUP",
            Self::REJECTED_RESUME => "REJECTED_RESUME",
            Self::CONNECTION_ERROR => "CONNECTION_ERROR",
            Self::CONNECTION_CLOSE => "CONNECTION_CLOSE",
            Self::APPLICATION_ERROR => "APPLICATION_ERROR",
            Self::REJECTED => "REJECTED",
            Self::CANCELED => "CANCELED",
            Self::INVALID => "INVALID",
            _ => return None,
        })
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "{:#010x}", self.0),
        }
    }
}

// The value of a 24-bit length fits the field that holds it.
const _: () = assert!(FRAME_BYTES_MAX <= u32::MAX as usize);
