//! Requests that must not happen twice.
//!
//! Each has an id, the caller's or one that is made here. If no answer came, the failure names the
//! id, so that the command can be repeated and has its effect once.

use std::fs::File;
use std::io::Read;

use serde_json::Value;

use crate::api::{Api, Ask, Method, Refused};
use crate::failure::{Context, Failure};

/// A random id (RFC 9562, 5.4).
pub(crate) fn new_id() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    let read = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    read.context("no random id can be made")?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
}

/// Posts under the id, or under a new one.
pub(crate) fn post(api: &Api, path: &str, body: &str, id: Option<&str>) -> Result<Value, Failure> {
    let id = id.map_or_else(new_id, |id| Ok(id.to_owned()))?;
    let ask = Ask { method: Method::Post, path, body: Some(body), idempotency_key: Some(&id) };
    api.ask(ask).map_err(|refused| match refused {
        Refused::Unanswered(failure) => {
            Failure::new(format!("{failure}; with --id {id} it can be repeated and happens once"))
        }
        refused => refused.into(),
    })
}
