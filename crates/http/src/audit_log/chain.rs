//! The hash chain of the lines: the last field of each, `chain`, is the SHA-256 of the line
//! before's value and of this line's object without that field.
//!
//! A file begins with a line that names the chain it continues, so that files can be removed from
//! the oldest on. The chain has no secret: who can write the files can make a new chain. A value of
//! it that was kept elsewhere shows that the lines up to it are those of that time.

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use crate::spelling::hex;

/// The line that begins a file, and that follows lines of which the chain is not known.
#[derive(Serialize, Deserialize)]
pub(super) struct Continues {
    pub(super) at: String,
    /// The value of the chain before it.
    pub(super) continues: String,
}

/// The value of a chain after a line.
pub(super) type Link = [u8; 32];

/// Before the first line.
pub(super) const BEGINNING: Link = [0; 32];

const FIELD: &str = ",\"chain\":\"";

/// Appends the chain to a line: a JSON object without it, and without a line end. Returns the value
/// after it.
pub(super) fn close(line: &mut String, before: &Link) -> Link {
    let link = after(before, line);
    line.pop();
    line.push_str(FIELD);
    line.push_str(&hex(&link));
    line.push_str("\"}");
    link
}

/// The object of a line and the value of its chain; none where it has none.
pub(super) fn open(line: &str) -> Option<(String, Link)> {
    let (text, chain) = line.strip_suffix("\"}")?.rsplit_once(FIELD)?;
    Some((format!("{text}}}"), parse(chain)?))
}

/// The value after a line's object.
pub(super) fn after(before: &Link, object: &str) -> Link {
    let mut context = Context::new(&SHA256);
    context.update(before);
    context.update(object.as_bytes());
    context.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// The value of 64 hexadecimal digits.
pub(super) fn parse(text: &str) -> Option<Link> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut link = BEGINNING;
    for (byte, digits) in link.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_opens_to_what_was_closed() {
        let mut line = r#"{"at":"x","path":"/a,\"chain\":\"b"}"#.to_owned();
        let object = line.clone();
        let link = close(&mut line, &BEGINNING);
        assert_eq!(open(&line), Some((object.clone(), link)));
        assert_eq!(after(&BEGINNING, &object), link);
        assert_eq!(parse(&hex(&link)), Some(link));
        assert_eq!(open(&object), None);
        assert_eq!(parse("00"), None);
    }
}
