//! Finds a value in JSON by a path (RFC 9535).
//!
//! A singular path (`$.user.tags[0]`) is walked over the bytes: no tree is built, nothing is allocated, and what follows
//! the value is not looked at. Any other path (`$..id`, `$.items[?@.price < 10].name`) is left to `serde_json_path`,
//! which needs the whole tree; its first node counts.

use std::borrow::Cow;

use crate::mistake::Mistake;
use crate::value::{Operand, Value};

/// A path to a value.
#[derive(Debug, Clone)]
pub struct JsonPath {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Singular(Vec<Segment>),
    General(serde_json_path::JsonPath),
}

/// One step down.
#[derive(Debug, Clone, PartialEq)]
enum Segment {
    Name(String),
    Index(usize),
}

impl JsonPath {
    /// Reads a path.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<JsonPath, Mistake> {
        if !text.starts_with('$') {
            return Err(Mistake::new(0..text.len(), format!("`{text}` is not a path into JSON"))
                .hint(format!("a path begins with `$`, as in `$.{}`", text.trim_start_matches('.'))));
        }
        let kind = match singular(text) {
            Some(segments) => Kind::Singular(segments),
            None => Kind::General(serde_json_path::JsonPath::parse(text).map_err(|error| {
                let at = error.position().min(text.len());
                let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                Mistake::new(at..text.len(), format!("not a path into JSON: {}", error.message()))
            })?),
        };
        Ok(JsonPath { text: text.to_owned(), kind })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value that it leads to. Objects and lists are their text.
    pub(crate) fn find<'j>(&self, json: &'j [u8]) -> Option<Operand<'j>> {
        match &self.kind {
            Kind::Singular(segments) => {
                let raw = walk(json, segments)?;
                if raw.first() != Some(&b'"') {
                    return Some(scalar(raw));
                }
                let inside = &raw[1..raw.len() - 1];
                if memchr::memchr(b'\\', inside).is_none() {
                    return Some(Operand::from_bytes(inside));
                }
                let mut text = String::new();
                unescape(inside, &mut text);
                Some(Operand::Text(Cow::Owned(text)))
            }
            Kind::General(path) => {
                let tree: serde_json::Value = serde_json::from_slice(json).ok()?;
                Some(from_tree(path.query(&tree).first()?))
            }
        }
    }

    /// Puts the value that it leads to into a variable; returns whether there is one.
    pub(crate) fn take(&self, json: &[u8], into: &mut Value) -> bool {
        if let Kind::Singular(segments) = &self.kind {
            let Some(raw) = walk(json, segments) else {
                return false;
            };
            if raw.first() == Some(&b'"') {
                // Unescaped into the memory of the text that the variable held.
                into.set_text("");
                if let Value::Text(text) = into {
                    unescape(&raw[1..raw.len() - 1], text);
                }
            } else {
                scalar(raw).store(into);
            }
            return true;
        }
        match self.find(json) {
            Some(found) => {
                found.store(into);
                true
            }
            None => false,
        }
    }
}

/// The segments of a path that is singular and written without blanks.
fn singular(text: &str) -> Option<Vec<Segment>> {
    let mut segments = Vec::new();
    let mut rest = text.strip_prefix('$')?;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let length = after.find(['.', '[']).unwrap_or(after.len());
            let name = &after[..length];
            let is_name = |at: char| at.is_ascii_alphanumeric() || at == '_' || !at.is_ascii();
            if name.is_empty()
                || name.starts_with(|first: char| first.is_ascii_digit())
                || !name.chars().all(is_name)
            {
                return None;
            }
            segments.push(Segment::Name(name.to_owned()));
            rest = &after[length..];
        } else {
            let after = rest.strip_prefix('[')?;
            let quote = after.chars().next().filter(|quote| matches!(quote, '\'' | '"'));
            if let Some(quote) = quote {
                let length = after[1..].find(quote)?;
                let name = &after[1..=length];
                if name.contains('\\') {
                    return None;
                }
                segments.push(Segment::Name(name.to_owned()));
                rest = after[length + 2..].strip_prefix(']')?;
            } else {
                let length = after.find(']')?;
                let digits = &after[..length];
                let is_index = digits.bytes().all(|byte| byte.is_ascii_digit())
                    && (digits == "0" || !digits.starts_with('0'));
                segments.push(Segment::Index(digits.parse().ok().filter(|_| is_index)?));
                rest = &after[length + 1..];
            }
        }
    }
    Some(segments)
}

/// The bytes of the value at the end of a path.
fn walk<'j>(json: &'j [u8], segments: &[Segment]) -> Option<&'j [u8]> {
    let mut at = blanks(json, 0);
    for segment in segments {
        at = match segment {
            Segment::Name(name) => member(json, at, name)?,
            Segment::Index(index) => element(json, at, *index)?,
        };
    }
    let end = end_of_value(json, at)?;
    Some(&json[at..end])
}

/// Where the value of an object's member begins.
fn member(json: &[u8], at: usize, name: &str) -> Option<usize> {
    if json.get(at) != Some(&b'{') {
        return None;
    }
    let mut at = blanks(json, at + 1);
    loop {
        let end = end_of_string(json, at)?;
        let key = &json[at + 1..end - 1];
        at = blanks(json, end);
        if json.get(at) != Some(&b':') {
            return None;
        }
        at = blanks(json, at + 1);
        if is_key(key, name) {
            return Some(at);
        }
        at = blanks(json, end_of_value(json, at)?);
        if json.get(at) != Some(&b',') {
            return None;
        }
        at = blanks(json, at + 1);
    }
}

fn is_key(raw: &[u8], name: &str) -> bool {
    if memchr::memchr(b'\\', raw).is_none() {
        return raw == name.as_bytes();
    }
    let mut key = String::new();
    unescape(raw, &mut key);
    key == name
}

/// Where a list's element begins.
fn element(json: &[u8], at: usize, index: usize) -> Option<usize> {
    if json.get(at) != Some(&b'[') {
        return None;
    }
    let mut at = blanks(json, at + 1);
    if json.get(at) == Some(&b']') {
        return None;
    }
    for _ in 0..index {
        at = blanks(json, end_of_value(json, at)?);
        if json.get(at) != Some(&b',') {
            return None;
        }
        at = blanks(json, at + 1);
    }
    Some(at)
}

fn blanks(json: &[u8], mut at: usize) -> usize {
    while matches!(json.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

/// The end of a string that begins here, its quotes included.
fn end_of_string(json: &[u8], at: usize) -> Option<usize> {
    if json.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', json.get(at..)?)?;
        if json[at] == b'"' {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// The end of a value that begins here. Brackets are counted, not matched: broken JSON is found broken where it matters.
fn end_of_value(json: &[u8], at: usize) -> Option<usize> {
    match json.get(at)? {
        b'"' => end_of_string(json, at),
        b'{' | b'[' => {
            let mut depth = 0_usize;
            let mut at = at;
            loop {
                match json.get(at)? {
                    b'"' => {
                        at = end_of_string(json, at)?;
                        continue;
                    }
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    return Some(at);
                }
            }
        }
        b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
            let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
            let length = json[at..].iter().position(ends).unwrap_or(json.len() - at);
            Some(at + length)
        }
        _ => None,
    }
}

/// What is not a string: a word, a number, or an object or list as its text.
fn scalar(raw: &[u8]) -> Operand<'_> {
    match raw {
        b"null" => Operand::Null,
        b"true" => Operand::Bool(true),
        b"false" => Operand::Bool(false),
        _ => {
            let text = String::from_utf8_lossy(raw);
            match crate::value::read_number(&text) {
                Some(number) if is_exact(&text) => Operand::Number(number),
                _ => Operand::Text(text),
            }
        }
    }
}

/// Whether a number survives as one. Long ids do not; they stay text, so that they come back as they were.
fn is_exact(number: &str) -> bool {
    /// Decimal digits that a double holds.
    const DIGITS: usize = 15;
    number.bytes().take_while(|byte| !matches!(byte, b'e' | b'E')).filter(u8::is_ascii_digit).count()
        <= DIGITS
}

fn from_tree(value: &serde_json::Value) -> Operand<'static> {
    match value {
        serde_json::Value::Null => Operand::Null,
        serde_json::Value::Bool(value) => Operand::Bool(*value),
        serde_json::Value::String(text) => Operand::Text(Cow::Owned(text.clone())),
        other => {
            let text = other.to_string();
            match crate::value::read_number(&text) {
                Some(number) if is_exact(&text) => Operand::Number(number),
                _ => Operand::Text(Cow::Owned(text)),
            }
        }
    }
}

/// Appends the text that the inside of a JSON string means (RFC 8259, 7). Broken parts become
/// U+FFFD.
fn unescape(raw: &[u8], out: &mut String) {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        push_text(&rest[..at], out);
        let (character, length) = match rest.get(at + 1) {
            Some(b'n') => ('\n', 2),
            Some(b't') => ('\t', 2),
            Some(b'r') => ('\r', 2),
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            Some(same @ (b'"' | b'\\' | b'/')) => (char::from(*same), 2),
            Some(b'u') => unicode(&rest[at..]),
            _ => (char::REPLACEMENT_CHARACTER, 1),
        };
        out.push(character);
        rest = &rest[(at + length).min(rest.len())..];
    }
    push_text(rest, out);
}

fn push_text(bytes: &[u8], out: &mut String) {
    match std::str::from_utf8(bytes) {
        Ok(text) => out.push_str(text),
        Err(_) => out.push_str(&String::from_utf8_lossy(bytes)),
    }
}

/// The character of `\uXXXX`, or of two of them that are a surrogate pair, and how many bytes they are.
fn unicode(escape: &[u8]) -> (char, usize) {
    let unit = |at: usize| {
        let digits = std::str::from_utf8(escape.get(at..at + 4)?).ok()?;
        u32::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(2) else {
        return (char::REPLACEMENT_CHARACTER, 2);
    };
    if (0xd800..0xdc00).contains(&first)
        && escape.get(6..8) == Some(b"\\u")
        && let Some(second) = unit(8).filter(|second| (0xdc00..0xe000).contains(second))
    {
        let character = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
        return (character.unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#" { "a" : {"b":[1, {"c":"x"}, "tw\"o", [] ]}, "t":true, "n" : null, "big":12345678901234567890,
        "é\u0041":"\ud83d\ude00 \u00e9\n", "f":-1.5e3, "o":{"k":[1,"]"]}, "last":"end"} "#;

    fn found(path: &str) -> Option<Value> {
        let path = JsonPath::parse(path).unwrap();
        let mut into = Value::from("before");
        let there = path.take(JSON.as_bytes(), &mut into);
        let borrowed = path.find(JSON.as_bytes()).map(Operand::into_value);
        assert_eq!(borrowed, there.then(|| into.clone()), "{}", path.text());
        borrowed
    }

    #[test]
    fn singular_paths_find_what_the_tree_holds() {
        for (path, value) in [
            ("$.a.b[0]", Some(Value::Number(1.0))),
            ("$.a.b[1].c", Some("x".into())),
            ("$['a']['b'][2]", Some("tw\"o".into())),
            ("$[\"a\"].b[3]", Some("[]".into())),
            ("$.a.b[3][0]", None),
            ("$.a.b[9]", None),
            ("$.t", Some(Value::Bool(true))),
            ("$.n", Some(Value::Null)),
            ("$.n.x", None),
            ("$.big", Some("12345678901234567890".into())),
            ("$.éA", Some("😀 é\n".into())),
            ("$.f", Some(Value::Number(-1500.0))),
            ("$.o", Some("{\"k\":[1,\"]\"]}".into())),
            ("$.last", Some("end".into())),
            ("$.missing", None),
        ] {
            let parsed = JsonPath::parse(path).unwrap();
            assert!(matches!(parsed.kind, Kind::Singular(_)), "{path}");
            assert_eq!(found(path), value, "{path}");
        }
    }

    #[test]
    fn other_paths_take_the_first_node() {
        for (path, value) in [
            ("$..c", Some("x".into())),
            ("$.a.b[-1]", Some("[]".into())),
            ("$.a.b[?@ == 1]", Some(Value::Number(1.0))),
            ("$.big ", None),
        ] {
            match JsonPath::parse(path) {
                Ok(parsed) => {
                    assert!(matches!(parsed.kind, Kind::General(_)), "{path}");
                    assert_eq!(found(path), value, "{path}");
                }
                Err(mistake) => assert!(value.is_none(), "{path}: {mistake}"),
            }
        }
    }

    #[test]
    fn broken_json_is_not_found_and_not_a_panic() {
        let path = JsonPath::parse("$.a.b[1]").unwrap();
        let whole = r#"{"a":{"b":["\u00","\"]}"#;
        for end in 0..=whole.len() {
            let _ = path.find(&whole.as_bytes()[..end]);
        }
        for text in ["", "{", "[", "{\"a\"", "{\"a\":}", "nul", "{\"a\":{\"b\":[1,"] {
            assert_eq!(path.find(text.as_bytes()), None, "{text}");
        }
        let mut into = Value::Null;
        assert!(JsonPath::parse("$").unwrap().take(br#""\ud800x\u12""#, &mut into));
        assert_eq!(into, "\u{fffd}x\u{fffd}12".into());
    }

    #[test]
    fn a_wrong_path_is_reported() {
        assert!(JsonPath::parse("token").unwrap_err().to_string().contains("`$.token`"));
        assert!(JsonPath::parse("$.a[").unwrap_err().message.contains("not a path"));
    }
}
