//! Values, their times to live, and how a program's own types become bytes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::error::Error;
use crate::protocol::{Answer, Outcome};

/// The longest time to live that a server takes as seconds from now: 30 days. Above it, it takes the
/// number as a Unix time ("Expiration times" in `doc/protocol.txt`).
const RELATIVE_S_MAX: u64 = 60 * 60 * 24 * 30;

/// A value as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Value {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The flags that it was stored with.
    pub flags: u32,
    /// Its unique number, from [`Client::gets`](crate::Client::gets).
    pub cas: Option<u64>,
}

/// The value of an answer to a read.
pub(crate) fn value_of(answer: Answer, bytes: Vec<u8>) -> Result<Option<Value>, Error> {
    let value = Value { bytes, flags: answer.client_flags, cas: answer.cas };
    Ok((answer.outcome == Outcome::Done).then_some(value))
}

/// The time at which an item expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Expiry {
    /// Only when the server needs its memory.
    #[default]
    Never,
    /// After this time, rounded up to whole seconds; zero means at once.
    After(Duration),
}

impl From<Duration> for Expiry {
    fn from(after: Duration) -> Self {
        Self::After(after)
    }
}

impl Expiry {
    /// As the protocol has it.
    pub(crate) fn on_wire(self) -> i64 {
        let Self::After(after) = self else { return 0 };
        let seconds = after.as_secs().saturating_add(u64::from(after.subsec_nanos() > 0));
        match seconds {
            0 => -1,
            1..=RELATIVE_S_MAX => seconds as i64,
            _ => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
                // The server's own times are 32 bits of seconds since it started.
                i64::try_from(now.saturating_add(seconds)).unwrap_or(i64::MAX).min(i64::from(i32::MAX))
            }
        }
    }
}

/// Converts a program's values to bytes and back.
///
/// The flags say which conversion was used; other clients see them too.
pub trait Format<T> {
    /// Appends the value to `bytes`, and returns its flags.
    ///
    /// # Errors
    ///
    /// A text for people: the value cannot be written.
    fn write(&self, value: &T, bytes: &mut Vec<u8>) -> Result<u32, String>;

    /// Reads a value back.
    ///
    /// # Errors
    ///
    /// A text for people: flags or bytes are not of this format.
    fn read(&self, flags: u32, bytes: Vec<u8>) -> Result<T, String>;
}

/// The bytes and the flags of a program's own type.
pub(crate) fn write_as<T>(format: &impl Format<T>, value: &T) -> Result<(Vec<u8>, u32), Error> {
    let mut bytes = Vec::new();
    let flags = format.write(value, &mut bytes).map_err(|text| Error::Format(text.into()))?;
    Ok((bytes, flags))
}

/// A program's own type of a value that was read.
pub(crate) fn read_as<T>(format: &impl Format<T>, value: Value) -> Result<T, Error> {
    format.read(value.flags, value.bytes).map_err(|text| Error::Format(text.into()))
}

/// Strings as UTF-8, with flags 0.
#[derive(Debug, Clone, Copy, Default)]
pub struct Utf8;

impl Format<String> for Utf8 {
    fn write(&self, value: &String, bytes: &mut Vec<u8>) -> Result<u32, String> {
        bytes.extend_from_slice(value.as_bytes());
        Ok(0)
    }

    fn read(&self, flags: u32, bytes: Vec<u8>) -> Result<String, String> {
        if flags != 0 {
            return Err(format!("flags {flags} are not those of plain text"));
        }
        String::from_utf8(bytes).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expiries_are_seconds_or_a_time() {
        let after = |duration| Expiry::After(duration).on_wire();
        assert_eq!(Expiry::Never.on_wire(), 0);
        assert_eq!(after(Duration::ZERO), -1);
        assert_eq!(after(Duration::from_millis(1)), 1);
        assert_eq!(after(Duration::from_secs(RELATIVE_S_MAX)), RELATIVE_S_MAX as i64);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64;
        assert!(after(Duration::from_secs(RELATIVE_S_MAX + 1)) > now);
        assert_eq!(after(Duration::MAX), i64::from(i32::MAX));
    }
}
