//! Secrets in any text: what follows a secret name, and what looks like a secret.
//!
//! Over-careful rather than clever: a word too many is hidden in prose, a secret is not shown.

use std::borrow::Cow;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use regex::{Captures, Regex};

use super::{HIDDEN, is_secret_name};

/// Schemes of authorization (RFC 9110, 11.4) that may stand before what is secret.
const SCHEMES: &[&str] = &["bearer", "basic", "digest", "token", "negotiate", "apikey"];

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of this file")
}

/// A name, and what makes a value of what follows: `key=`, `"token": `, `Authorization: `.
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| regex(r#"([A-Za-z][A-Za-z0-9_.\-]*)(\\?["'])?[ \t]*(={1,2}|:)[ \t]*"#));
static BEARER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)\b(bearer|token)([ \t]+)([A-Za-z0-9._~+/-]{6,}=*)"));
static BASIC: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\b(basic)([ \t]+)([A-Za-z0-9+/]{4,})=*"));
/// Keys of our own HTTP API, secrets of webhooks, JSON Web Tokens.
static KEYS: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b(sk_[A-Za-z0-9_-]{16,}|whsec_[A-Za-z0-9+/=_-]{8,}|eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(\.[A-Za-z0-9_-]*)?)",
    )
});
/// The user part of a URL (RFC 3986, 3.2.1).
static USER: LazyLock<Regex> = LazyLock::new(|| regex(r#"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#\s@"'<>]+)@"#));
static PRIVATE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END|$)"));

/// The text without secrets.
pub(super) fn hide(text: &str) -> String {
    let text = PRIVATE.replace_all(text, format!("${{1}}{HIDDEN}${{2}}"));
    let text = USER.replace_all(&text, |found: &Captures<'_>| {
        if is_template(&found[2]) { found[0].to_owned() } else { format!("{}{HIDDEN}@", &found[1]) }
    });
    let text = named(&text);
    let text = BEARER.replace_all(&text, |found: &Captures<'_>| {
        // "bearer certificates" are words.
        let is_word = found[3].bytes().all(|byte| byte.is_ascii_lowercase());
        if is_word { found[0].to_owned() } else { format!("{}{}{HIDDEN}", &found[1], &found[2]) }
    });
    let text = BASIC.replace_all(&text, |found: &Captures<'_>| {
        let is_pair = STANDARD_NO_PAD.decode(&found[3]).is_ok_and(|bytes| bytes.contains(&b':'));
        if is_pair { format!("{}{}{HIDDEN}", &found[1], &found[2]) } else { found[0].to_owned() }
    });
    KEYS.replace_all(&text, HIDDEN).into_owned()
}

/// The literal parts of a value that is secret by its name; the varying parts (`${...}`) and the
/// scheme before it stay.
pub(super) fn hide_value(value: &str) -> Cow<'_, str> {
    if !value.contains("${") {
        let (scheme, rest) = scheme(value);
        let keep = rest.trim().is_empty() || rest.trim() == HIDDEN;
        return if keep { Cow::Borrowed(value) } else { Cow::Owned(format!("{scheme}{HIDDEN}")) };
    }
    let mut out = String::new();
    let mut rest = value;
    while let Some(at) = rest.find("${") {
        let end = rest[at..].find('}').map_or(rest.len(), |end| at + end + 1);
        out.push_str(&hide_part(&rest[..at]));
        out.push_str(&rest[at..end]);
        rest = &rest[end..];
    }
    out.push_str(&hide_part(rest));
    Cow::Owned(out)
}

/// The parts of a value that are secret by its name, as they are.
pub(super) fn literals(value: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = value;
    while let Some(at) = rest.find("${") {
        parts.push(&rest[..at]);
        let end = rest[at..].find('}').map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    parts.push(rest);
    parts
        .into_iter()
        .map(|part| scheme(part).1.trim().to_owned())
        .filter(|part| !part.is_empty() && !is_scheme(part))
        .collect()
}

fn hide_part(part: &str) -> Cow<'_, str> {
    let word = part.trim();
    // What stands between two values, such as `:`, is no secret.
    if !word.chars().any(char::is_alphanumeric) || is_scheme(word) {
        return Cow::Borrowed(part);
    }
    let (scheme, _) = scheme(part);
    Cow::Owned(format!("{scheme}{HIDDEN}"))
}

fn is_scheme(word: &str) -> bool {
    SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(word))
}

/// The scheme before a secret with the blanks after it, and the rest.
fn scheme(value: &str) -> (&str, &str) {
    let start = value.len() - value.trim_start().len();
    let word_end = value[start..].find([' ', '\t']).map_or(value.len(), |at| start + at);
    if word_end < value.len() && is_scheme(&value[start..word_end]) {
        let rest = value[word_end..].trim_start();
        return value.split_at(value.len() - rest.len());
    }
    ("", value)
}

fn is_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let end = rest[at..].find('}').map_or(rest.len(), |end| at + end + 1);
        if rest[..at].chars().any(char::is_alphanumeric) {
            return false;
        }
        rest = &rest[end..];
    }
    text.contains("${") && !rest.chars().any(char::is_alphanumeric)
}

/// The text without what follows a secret name.
fn named(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(found) = NAMED.captures_at(text, from) {
        let (Some(whole), Some(name)) = (found.get(0), found.get(1)) else { break };
        out.push_str(&text[from..whole.end()]);
        from = whole.end();
        let rest = &text[from..];
        if !is_secret_name(name.as_str()) || rest.starts_with("//") {
            continue;
        }
        let is_quoted = found.get(2).is_some();
        let is_colon = found.get(3).is_some_and(|separator| separator.as_str() == ":");
        let quote = QUOTES.iter().find(|quote| rest.starts_with(**quote)).copied().unwrap_or("");
        let inside = &rest[quote.len()..];
        let value = match quote {
            "" => unquoted(inside, is_header(name.as_str())),
            quote => &inside[..closing(inside, quote)],
        };
        // A path into JSON states where a value is.
        let is_path = value.starts_with("$.") || value.starts_with("$[");
        let stays = is_path || (is_colon && !is_quoted && is_prose(name.as_str(), value));
        out.push_str(quote);
        out.push_str(&if stays { Cow::Borrowed(value) } else { hide_value(value) });
        from += quote.len() + value.len();
    }
    out.push_str(&text[from..]);
    out
}

/// A header whose value goes to the end of its line.
fn is_header(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with("authorization") || name.ends_with("cookie")
}

/// Whether `name: value` reads as a sentence: "this worker asks for a key: --worker-key".
fn is_prose(name: &str, value: &str) -> bool {
    let is_word = value.starts_with('-') || value.bytes().all(|byte| byte.is_ascii_alphabetic());
    !is_header(name) && !name.contains(['-', '_']) && is_word
}

/// What texts are quoted with, also within quoted texts.
const QUOTES: &[&str] = &["\\\"", "\\'", "\"", "'"];

/// The value at the start of a text that is not quoted.
fn unquoted(text: &str, to_the_line_end: bool) -> &str {
    // Lists and objects: what is secret in them has names of its own.
    if text.starts_with(['{', '[']) {
        return "";
    }
    let mut depth = 0_u32;
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                depth += 1;
                at += 1;
            }
            b'}' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            b'\n' | b'\r' | b'"' | b'\'' | b'<' | b'`' => break,
            b'\\' if matches!(bytes.get(at + 1), Some(b'n' | b'r' | b'"' | b'\'')) => break,
            _ if to_the_line_end => {}
            b' ' | b'\t' | b'&' | b';' | b',' | b')' | b']' | b'}' | b'|' | b'>' => break,
            _ => {}
        }
        at += 1;
    }
    &text[..at]
}

fn closing(inside: &str, quote: &str) -> usize {
    let bytes = inside.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if inside.is_char_boundary(at) && inside[at..].starts_with(quote) {
            return at;
        }
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    inside.len()
}
