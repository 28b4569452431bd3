//! One value: get, set, delete, touch, incr.
//!
//! Values are bytes. `get` writes them as they are, so that what `set` read comes out again; only a terminal gets no
//! bytes that would control it.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde_json::json;
use stadium_memcache::protocol::{Arithmetic, Direction};
use stadium_memcache::{Expiry, Pending, Stored, Value};

use super::place::{Servers, VALUE_BYTES_MAX, failure};
use crate::failure::{Context, Failure};
use crate::shown::clean;
use crate::span;
use crate::terminal::{Terminal, count};

/// Characters of a key that a message shows: all that a key may have.
const KEY_CHARS_MAX: usize = 250;

#[derive(Debug, Args)]
pub(super) struct Get {
    /// The key
    key: String,
    #[command(flatten)]
    servers: Servers,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium memcache set greeting hello --expire 90s
  stadium memcache set page:1 < page.html

Everybody on this machine can see arguments: give a secret on standard
input.")]
pub(super) struct Set {
    /// The key
    key: String,
    /// The value [default: standard input to its end; `-` is the same]
    #[arg(allow_hyphen_values = true)]
    value: Option<String>,
    /// Gone so long from now: 90s, 1h30m, 14d [default: when the server needs its memory]
    #[arg(long, value_name = "SPAN", value_parser = expiry)]
    expire: Option<u64>,
    /// A number that clients see with the value, such as their code for a format
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["add", "replace"])]
    flags: u32,
    /// Only where there is no value; exit code 1 where there is one
    #[arg(long, conflicts_with = "replace")]
    add: bool,
    /// Only where there is a value; exit code 1 where there is none
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    servers: Servers,
}

#[derive(Debug, Args)]
pub(super) struct Delete {
    /// The key
    key: String,
    #[command(flatten)]
    servers: Servers,
}

#[derive(Debug, Args)]
pub(super) struct Touch {
    /// The key
    key: String,
    /// Gone so long from now: 90s, 1h30m, 14d; `never` for when the server needs its memory
    #[arg(long, value_name = "SPAN", value_parser = expiry_or_never)]
    expire: Expiry,
    #[command(flatten)]
    servers: Servers,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  stadium memcache incr visits
  stadium memcache incr stock -3              three less, down to 0
  stadium memcache incr visits --initial 1    1 where there is none

Exit code 1 where there is no number and no --initial.")]
pub(super) struct Incr {
    /// The key
    key: String,
    /// How much to add; below zero, to subtract
    #[arg(default_value_t = 1, allow_negative_numbers = true)]
    by: i128,
    /// The number to begin with where there is none
    #[arg(long, value_name = "N")]
    initial: Option<u64>,
    #[command(flatten)]
    servers: Servers,
}

fn expiry(text: &str) -> Result<u64, String> {
    match span::parse(text)? {
        // The server keeps whole seconds; 0 would mean for ever to it.
        0..=999 => Err("must be 1s at least: memcached counts whole seconds".to_owned()),
        milliseconds => Ok(milliseconds),
    }
}

fn expiry_or_never(text: &str) -> Result<Expiry, String> {
    if text == "never" {
        return Ok(Expiry::Never);
    }
    Ok(Expiry::After(Duration::from_millis(expiry(text)?)))
}

fn named(key: &str) -> String {
    if key.is_empty() { "\"\"".to_owned() } else { clean(key, KEY_CHARS_MAX) }
}

fn missing(key: &str) -> Failure {
    Failure::new(format!("there is no value under {}", named(key)))
}

/// Writes a value.
pub(super) fn get(arguments: &Get, terminal: &Terminal) -> Result<(), Failure> {
    let Get { key, servers } = arguments;
    let found = servers.client()?.get(key).map_err(|error| failure(named(key), &error))?;
    let Value { bytes, flags, .. } = found.ok_or_else(|| missing(key))?;
    if terminal.is_json() {
        let mut value = json!({"key": key, "flags": flags, "bytes": bytes.len()});
        match String::from_utf8(bytes) {
            Ok(text) => value["value"] = text.into(),
            Err(bytes) => value["value_base64"] = STANDARD.encode(bytes.as_bytes()).into(),
        }
        return terminal.json(&value);
    }
    let mut out = std::io::stdout().lock();
    let is_watched = out.is_terminal();
    if is_watched && bytes.iter().any(|byte| byte.is_ascii_control() && !b"\n\t\r".contains(byte)) {
        let bytes = count(bytes.len() as u64);
        return Err(Failure::Usage(format!(
            "the {bytes} bytes are no text for a terminal: write them to a file with `>`, or use --json"
        )));
    }
    let mut written = out.write_all(&bytes);
    if is_watched && !bytes.ends_with(b"\n") {
        written = written.and_then(|()| out.write_all(b"\n"));
    }
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("standard output cannot be written")
        }
        _ => Ok(()),
    }
}

/// Stores a value.
pub(super) fn set(arguments: &Set, terminal: &Terminal) -> Result<(), Failure> {
    let Set { key, value, expire, flags, add, replace, servers } = arguments;
    let client = servers.client()?;
    let value = match value.as_deref() {
        None | Some("-") => read_value(terminal)?,
        Some(text) => text.as_bytes().to_vec(),
    };
    let expiry = expire.map_or(Expiry::Never, |after| Expiry::After(Duration::from_millis(after)));
    let failed = |error| failure(named(key), &error);
    let stored = match (add, replace) {
        (true, _) => client.add(key, &value, expiry).and_then(Pending::wait),
        (_, true) => client.replace(key, &value, expiry).and_then(Pending::wait),
        _ => {
            let pending = client.set_flagged(key, &value, *flags, expiry).map_err(failed)?;
            pending.wait().map(|()| Stored::Stored)
        }
    };
    match stored.map_err(failed)? {
        Stored::Stored => {}
        _ if *add => return Err(Failure::new(format!("there is a value under {} already", named(key)))),
        _ => return Err(missing(key)),
    }
    if terminal.is_json() {
        return terminal.json(&json!({"key": key, "bytes": value.len(), "flags": flags}));
    }
    let bytes = match value.len() {
        1 => "1 byte is".to_owned(),
        bytes => format!("{} bytes are", count(bytes as u64)),
    };
    terminal.note(format_args!("{bytes} stored under {}", named(key)));
    Ok(())
}

fn read_value(terminal: &Terminal) -> Result<Vec<u8>, Failure> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        terminal.note("reading the value from standard input; end it with Ctrl-D");
    }
    let mut value = Vec::new();
    let most = VALUE_BYTES_MAX as u64 + 1;
    stdin.lock().take(most).read_to_end(&mut value).context("standard input cannot be read")?;
    if value.len() > VALUE_BYTES_MAX {
        let most = count(VALUE_BYTES_MAX as u64);
        return Err(Failure::Rejected(format!("the value has more than {most} bytes")));
    }
    Ok(value)
}

/// Removes a value.
pub(super) fn delete(arguments: &Delete, terminal: &Terminal) -> Result<(), Failure> {
    let Delete { key, servers } = arguments;
    let deleted = servers.client()?.delete(key).and_then(Pending::wait);
    if !deleted.map_err(|error| failure(named(key), &error))? {
        return Err(missing(key));
    }
    done(terminal, key, "is removed")
}

/// Gives a value a new time to live.
pub(super) fn touch(arguments: &Touch, terminal: &Terminal) -> Result<(), Failure> {
    let Touch { key, expire, servers } = arguments;
    let touched = servers.client()?.touch(key, *expire).and_then(Pending::wait);
    if !touched.map_err(|error| failure(named(key), &error))? {
        return Err(missing(key));
    }
    done(terminal, key, "has its new time to live")
}

fn done(terminal: &Terminal, key: &str, what: &str) -> Result<(), Failure> {
    if terminal.is_json() {
        return terminal.json(&json!({"key": key}));
    }
    terminal.note(format_args!("{} {what}", named(key)));
    Ok(())
}

/// Adds to a number.
pub(super) fn incr(arguments: &Incr, terminal: &Terminal) -> Result<(), Failure> {
    let Incr { key, by, initial, servers } = arguments;
    let direction = if *by < 0 { Direction::Decrement } else { Direction::Increment };
    let delta = u64::try_from(by.unsigned_abs())
        .map_err(|_| Failure::Usage(format!("{by} has more than 64 bits")))?;
    let how = Arithmetic { direction, delta, initial: initial.map(|number| (number, 0)) };
    let pending = servers.client()?.arithmetic(key, how);
    let number = pending.and_then(Pending::wait);
    let number = number.map_err(|error| failure(named(key), &error))?.ok_or_else(|| missing(key))?;
    if terminal.is_json() {
        return terminal.json(&json!({"key": key, "number": number}));
    }
    terminal.data(&number.to_string())
}
