//! Bytes and timestamps as the API spells them.
//!
//! Bytes have two spellings: `NAME` where they are UTF-8 text, else `NAME_base64`; sending back what was read gives the same
//! bytes. A timestamp is RFC 3339.

use std::time::{Duration, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::value::RawValue;
use stadium_queue::{InvalidName, Time};

use crate::request::problem::{FIELD_WRONG, Problem};
use crate::rfc3339;

/// Bytes as hexadecimal digits, two each.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes in one of their two spellings.
pub(crate) fn spelled(bytes: &[u8]) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(STANDARD.encode(bytes))),
    }
}

/// The bytes of a field `name` and its other spelling `name_base64`, which stand at `at` in the body. A JSON string is its
/// UTF-8 text; anything else the JSON text given.
pub(crate) fn bytes_of(
    at: &str,
    name: &str,
    json: Option<&RawValue>,
    base64: Option<&str>,
) -> Result<Option<Bytes>, Problem> {
    match (json, base64) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) => {
            let both = format!("give `{name}` or `{name}_base64`, not both");
            Err(field(&format!("{at}{name}_base64"), &both))
        }
        (Some(json), None) if json.get().starts_with('"') => {
            let text: String = serde_json::from_str(json.get())
                .map_err(|error| field(&format!("{at}{name}"), &error.to_string()))?;
            Ok(Some(text.into()))
        }
        (Some(json), None) => Ok(Some(json.get().to_owned().into())),
        (None, Some(base64)) => {
            let bytes = STANDARD.decode(base64).map_err(|error| {
                field(&format!("{at}{name}_base64"), &format!("it is not padded standard base64: {error}"))
            })?;
            Ok(Some(bytes.into()))
        }
    }
}

/// A timestamp as text.
pub(crate) fn timestamp(time: Time) -> String {
    rfc3339::format(UNIX_EPOCH + Duration::from_millis(time.0))
}

/// The time that a text names; an error in words where it names none.
pub(crate) fn parse_timestamp(text: &str) -> Result<Time, String> {
    let none = || format!("{text:?} is no timestamp as in 2030-01-01T20:00:00Z (RFC 3339)");
    rfc3339::parse(text).map(Time).ok_or_else(none)
}

/// A name at a path of the body.
pub(crate) fn named<T>(path: &str, name: Result<T, InvalidName>) -> Result<T, Problem> {
    name.map_err(|error| field(path, &error.to_string()))
}

/// A name at a path of the body, where there is one.
pub(crate) fn optional<T>(
    path: &str,
    text: Option<&str>,
    make: fn(&str) -> Result<T, InvalidName>,
) -> Result<Option<T>, Problem> {
    text.map(|text| named(path, make(text))).transpose()
}

/// A field that is wrong.
pub(crate) fn field(path: &str, detail: &str) -> Problem {
    Problem::new(FIELD_WRONG, detail).at(path)
}
