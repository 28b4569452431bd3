//! How jobs look to people: payloads on one line, states in their colours.

use serde_json::Value;

use crate::shown::clean;
use crate::terminal::{Style, Styled, Terminal};

/// Characters of a payload in a list.
const PAYLOAD_CHARS: usize = 60;

/// A job's payload on one line, cut to what a list has room for.
pub(super) fn payload(job: &Value) -> String {
    match (job.get("payload").and_then(Value::as_str), job.get("payload_base64").and_then(Value::as_str)) {
        (Some(text), _) => clean(text, PAYLOAD_CHARS),
        (None, Some(base64)) => format!("base64:{}", clean(base64, PAYLOAD_CHARS)),
        (None, None) => "-".to_owned(),
    }
}

/// A state in its colour.
pub(super) fn state<'a>(terminal: &Terminal, word: &'a str) -> Styled<&'a str> {
    let style = match word {
        "due" => Style::Good,
        "reserved" => Style::Name,
        "buried" => Style::Warning,
        "dead" => Style::Bad,
        _ => Style::Faint,
    };
    terminal.out(style, word)
}
