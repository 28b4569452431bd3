//! Bytes that a step sends: a template, base64, hexadecimal digits, a file, JSON.
//!
//! JSON is written once, when the scenario is read: what varies in it are the `${...}` of its texts.

use base64::Engine as _;
use toml::de::DeValue;

use super::Builder;
use super::reader::{Item, entries};
use super::shape;
use crate::encode;
use crate::mistake::Mistake;
use crate::template::{Encoding, Template};

/// Bytes, and whether they were given as bytes and not as a text.
pub(super) struct Bytes {
    pub(super) template: Template,
    pub(super) is_binary: bool,
}

impl<'a> Builder<'a, '_> {
    pub(super) fn bytes(&mut self, item: &'a Item<'a>) -> Option<Bytes> {
        if item.get_ref().is_str() {
            return Some(Bytes { template: self.template(item, Encoding::Plain)?, is_binary: false });
        }
        let fields = self.reader.fields(item, &shape::DATA_BYTES)?;
        let kinds = ["text", "base64", "hex", "file"];
        let given: Vec<(&str, &'a Item<'a>)> =
            kinds.iter().filter_map(|kind| fields.item(kind).map(|item| (*kind, item))).collect();
        let [(kind, item)] = given.as_slice() else {
            let message = "bytes are given by one of `text`, `base64`, `hex`, `file`";
            self.reader.problem(fields.at.clone(), message);
            return None;
        };
        let bytes = match *kind {
            "text" => {
                return Some(Bytes { template: self.template(item, Encoding::Plain)?, is_binary: false });
            }
            "base64" => {
                let text = self.reader.text(item)?;
                base64::engine::general_purpose::STANDARD.decode(text).ok()
            }
            "hex" => unhex(self.reader.text(item)?),
            _ => Some(self.file(item)?),
        };
        match bytes {
            Some(bytes) => Some(Bytes { template: Template::bytes_from(bytes), is_binary: true }),
            None => {
                self.reader.problem(item.span(), format!("not {kind}"));
                None
            }
        }
    }

    /// A value as JSON.
    pub(super) fn json(&mut self, item: &'a Item<'a>) -> Option<Template> {
        let mut template = Template::default();
        self.push_json(item, &mut template)?;
        Some(template)
    }

    fn push_json(&mut self, item: &'a Item<'a>, out: &mut Template) -> Option<()> {
        match item.get_ref() {
            DeValue::String(text) => {
                if let Err(mistake) = out.push_json(text, &mut self.variables) {
                    self.note_in(item, mistake);
                    return None;
                }
            }
            DeValue::Integer(integer) => match i128::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(number) => out.push_literal(number.to_string().as_bytes()),
                Err(_) => return self.not_json(item),
            },
            DeValue::Float(float) => {
                let number = float.as_str().parse::<f64>().ok().filter(|number| number.is_finite());
                match number.and_then(serde_json::Number::from_f64) {
                    Some(number) => out.push_literal(number.to_string().as_bytes()),
                    None => return self.not_json(item),
                }
            }
            DeValue::Boolean(value) => out.push_literal(if *value { b"true" } else { b"false" }),
            DeValue::Datetime(datetime) => out.push_literal(format!("\"{datetime}\"").as_bytes()),
            DeValue::Array(items) => {
                out.push_literal(b"[");
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push_literal(b",");
                    }
                    self.push_json(item, out)?;
                }
                out.push_literal(b"]");
            }
            DeValue::Table(table) => {
                out.push_literal(b"{");
                for (at, entry) in entries(table).into_iter().enumerate() {
                    let mut key = if at > 0 { b",\"".to_vec() } else { b"\"".to_vec() };
                    encode::json_text(entry.key.as_bytes(), &mut key);
                    key.extend_from_slice(b"\":");
                    out.push_literal(&key);
                    self.push_json(entry.item, out)?;
                }
                out.push_literal(b"}");
            }
        }
        Some(())
    }

    fn not_json(&mut self, item: &Item<'_>) -> Option<()> {
        self.reader.problem(item.span(), "JSON has no such number");
        None
    }

    /// Fields of a form (application/x-www-form-urlencoded).
    pub(super) fn form(&mut self, item: &'a Item<'a>) -> Option<Template> {
        let mut template = Template::default();
        for (at, entry) in self.reader.map(item).into_iter().enumerate() {
            let mut key = if at > 0 { b"&".to_vec() } else { Vec::new() };
            encode::percent(entry.key.as_bytes(), &mut key);
            key.push(b'=');
            template.push_literal(&key);
            if entry.item.get_ref().is_str() {
                template.push(self.template(entry.item, Encoding::Form)?);
            } else {
                let mut value = Vec::new();
                self.reader.value(entry.item)?.write(&mut value);
                template.push_literal(&value);
            }
        }
        Some(template)
    }

    /// Headers of a request. Names are checked; those that belong to the connection are refused.
    pub(super) fn headers(&mut self, item: Option<&'a Item<'a>>) -> Vec<(String, Template)> {
        let mut headers = Vec::new();
        let Some(item) = item else {
            return headers;
        };
        for entry in self.reader.map(item) {
            let name = entry.key.to_ascii_lowercase();
            if name.is_empty() || !name.bytes().all(is_token) {
                self.reader.problem(entry.at.clone(), format!("`{}` is not a header's name", entry.key));
            } else if OWN_HEADERS.contains(&name.as_str()) {
                let mistake =
                    Mistake::new(entry.at.clone(), format!("`{}` is set by the load lab itself", entry.key));
                self.reader.note(
                    mistake
                        .hint("it says how the connection is used, or follows from the body and the target"),
                );
            }
            if let Some(template) = self.template(entry.item, Encoding::Header) {
                headers.push((entry.key.to_owned(), template));
            }
        }
        headers
    }
}

/// Headers of the connection, of framing and of the target.
const OWN_HEADERS: &[&str] =
    &["host", "content-length", "transfer-encoding", "connection", "upgrade", "keep-alive", "te"];

/// A character of a header's name (RFC 9110, 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Bytes from hexadecimal digits; blanks do not count.
pub(super) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|at| !at.is_whitespace())
        .map(|digit| digit.to_digit(16).and_then(|value| u8::try_from(value).ok()))
        .collect::<Option<_>>()?;
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
