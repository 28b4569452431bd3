//! Keys: which bytes may stand in a command as they are, and which need the base64 flag.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Bytes of a key at most, as it is sent: a key in base64 has a third less of its own.
///
/// Source: `KEY_MAX_LENGTH` in memcached, and "Keys" in `doc/protocol.txt`.
pub const KEY_BYTES_MAX: usize = 250;

/// A key that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    bytes: &'a [u8],
    is_binary: bool,
}

/// Why bytes are no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyError {
    /// A key has at least one byte.
    Empty,
    /// The key, as it would be sent, has more than [`KEY_BYTES_MAX`] bytes.
    TooLong {
        /// Its length as it would be sent.
        bytes: usize,
    },
    /// The classic protocol has no form for a key with spaces, control characters or bytes over 126.
    NeedsMeta,
}

impl<'a> Key<'a> {
    /// Takes the bytes of a key. Printable ASCII without spaces is sent as it is; anything else in
    /// base64, which the meta protocol alone understands.
    ///
    /// # Errors
    ///
    /// The key is empty, or longer than [`KEY_BYTES_MAX`] as it would be sent.
    pub fn new(bytes: &'a [u8]) -> Result<Self, KeyError> {
        if bytes.is_empty() {
            return Err(KeyError::Empty);
        }
        let is_binary = !bytes.iter().all(u8::is_ascii_graphic);
        let sent = if is_binary { bytes.len().div_ceil(3) * 4 } else { bytes.len() };
        if sent > KEY_BYTES_MAX {
            return Err(KeyError::TooLong { bytes: sent });
        }
        Ok(Self { bytes, is_binary })
    }

    /// Its bytes, as the caller gave them.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// True where it is sent in base64, with the flag `b`.
    pub fn is_binary(self) -> bool {
        self.is_binary
    }

    /// Appends it as it is sent.
    pub fn write(self, out: &mut Vec<u8>) {
        if !self.is_binary {
            out.extend_from_slice(self.bytes);
            return;
        }
        // At most KEY_BYTES_MAX, which `new` made sure of.
        let mut sent = [0; KEY_BYTES_MAX + 2];
        let bytes = STANDARD.encode_slice(self.bytes, &mut sent).unwrap_or_default();
        out.extend_from_slice(&sent[..bytes]);
    }
}

impl fmt::Display for KeyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(out, "the key is empty"),
            Self::TooLong { bytes } => {
                write!(out, "the key takes {bytes} bytes as it is sent, {KEY_BYTES_MAX} are accepted")
            }
            Self::NeedsMeta => {
                write!(
                    out,
                    "the key has bytes that the classic protocol cannot send, and the server has no other"
                )
            }
        }
    }
}

impl std::error::Error for KeyError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Key::new(bytes).unwrap().write(&mut out);
        out
    }

    #[test]
    fn printable_keys_are_sent_as_they_are_and_others_in_base64() {
        assert_eq!(sent(b"user:7"), b"user:7");
        assert_eq!(sent(b"a b"), b"YSBi");
        assert_eq!(sent(&[0]), b"AA==");
        assert_eq!(sent("é".as_bytes()), b"w6k=");
    }

    #[test]
    fn keys_are_bounded_as_they_are_sent() {
        assert_eq!(Key::new(b""), Err(KeyError::Empty));
        assert!(Key::new(&[b'k'; 250]).is_ok());
        assert_eq!(Key::new(&[b'k'; 251]), Err(KeyError::TooLong { bytes: 251 }));
        assert_eq!(sent(&[0; 186]).len(), 248);
        assert_eq!(Key::new(&[0; 187]), Err(KeyError::TooLong { bytes: 252 }));
    }
}
