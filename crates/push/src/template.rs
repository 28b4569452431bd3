//! What a device gets of a notification: its variant, with its own values in the places of `{{name}}`, as JSON.
//!
//! A text is checked when its push is accepted. `{{name|words}}` stands for the words where a
//! device has no value; a name without words keeps such a device out of the push. Values are put in
//! when it is sent; a value that was removed meanwhile becomes an empty text.

use std::borrow::Cow;
use std::fmt::Write as _;

use bytes::Bytes;

use crate::refusal::{TEMPLATE, rejected};
use crate::{Notification, PushId, Refusal, Words};

/// Bytes of a name between the braces.
const NAME_BYTES_MAX: usize = 64;

/// A part of a text.
enum Piece<'a> {
    Words(&'a str),
    Value { name: &'a str, without: Option<&'a str> },
}

/// The parts of a text. Braces that do not close are taken as words; [`check`] lets nobody write
/// them.
fn pieces(mut text: &str) -> impl Iterator<Item = Piece<'_>> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let Some(begin) = text.find("{{") else { return Some(Piece::Words(std::mem::take(&mut text))) };
        if begin > 0 {
            let (words, rest) = text.split_at(begin);
            text = rest;
            return Some(Piece::Words(words));
        }
        let Some(end) = text.find("}}") else { return Some(Piece::Words(std::mem::take(&mut text))) };
        let inside = &text[2..end];
        text = &text[end + 2..];
        let (name, without) = match inside.split_once('|') {
            None => (inside, None),
            Some((name, without)) => (name, Some(without)),
        };
        Some(Piece::Value { name: name.trim(), without })
    })
}

/// Whether a text is a template that is understood.
///
/// # Errors
///
/// Braces that do not close, and names that are none.
pub(crate) fn check(what: &str, text: &str) -> Result<(), Refusal> {
    let mut rest = text;
    while let Some(begin) = rest.find("{{") {
        let at = text.len() - rest.len() + begin;
        let Some(length) = rest[begin..].find("}}") else {
            let reason = format!("{what}: `{{{{` at byte {at} is not closed by `}}}}`");
            return Err(rejected(TEMPLATE, reason));
        };
        let inside = &rest[begin + 2..begin + length];
        let name = inside.split('|').next().unwrap_or_default().trim();
        let fits = !name.is_empty()
            && name.len() <= NAME_BYTES_MAX
            && !name.contains(['{', '}', '"', '\\'])
            && !name.contains(char::is_control);
        if !fits {
            let shown: String = name.chars().take(40).collect();
            let reason = format!(
                "{what}: `{{{{` at byte {at} holds {shown:?}; the name of an attribute or field, at most {NAME_BYTES_MAX} bytes, is expected"
            );
            return Err(rejected(TEMPLATE, reason));
        }
        if inside[name.len().min(inside.len())..].contains("{{") {
            return Err(rejected(TEMPLATE, format!("{what}: `{{{{` at byte {at} holds another one")));
        }
        rest = &rest[begin + length + 2..];
    }
    Ok(())
}

/// The words for a device of this platform and language, each field by itself: platform first, then the longest language, then everybody's.
fn choose<'a>(notification: &'a Notification, platform: &str, language: &str) -> [Option<&'a str>; 3] {
    let of_platform =
        notification.platforms.iter().find(|(name, _)| name == platform).map(|(_, words)| words);
    let is_of = |name: &str| {
        language.len() >= name.len()
            && language.is_char_boundary(name.len())
            && language[..name.len()].eq_ignore_ascii_case(name)
            && (language.len() == name.len() || language.as_bytes()[name.len()] == b'-')
    };
    let of_language = notification.languages.iter().filter(|(name, _)| is_of(name));
    let of_language = of_language.max_by_key(|(name, _)| name.len()).map(|(_, words)| words);
    fn fields(words: &Words) -> [Option<&str>; 3] {
        [words.title.as_deref(), words.body.as_deref(), words.data.as_deref()]
    }
    let mut chosen = fields(&notification.words);
    for words in [of_language, of_platform].into_iter().flatten() {
        for (field, variant) in chosen.iter_mut().zip(fields(words)) {
            *field = variant.or(*field);
        }
    }
    chosen
}

/// Which variant a device gets: devices with the same one get the same words, where these hold no values.
pub(crate) fn variant(notification: &Notification, platform: &str, language: &str) -> [usize; 3] {
    choose(notification, platform, language).map(|text| text.map_or(0, |text| text.as_ptr() as usize))
}

/// Whether any text holds a value.
pub(crate) fn has_values(notification: &Notification) -> bool {
    all_words(notification).any(|text| text.contains("{{"))
}

/// Whether any text holds a value without words for those who lack it.
pub(crate) fn needs_values(notification: &Notification) -> bool {
    all_words(notification).flat_map(pieces).any(|piece| matches!(piece, Piece::Value { without: None, .. }))
}

fn all_words(notification: &Notification) -> impl Iterator<Item = &str> {
    let variants = notification.platforms.iter().chain(&notification.languages).map(|(_, words)| words);
    std::iter::once(&notification.words)
        .chain(variants)
        .flat_map(|words| [&words.title, &words.body, &words.data])
        .filter_map(|text| text.as_deref())
}

/// The first name that a device has no value for, though its words need one.
pub(crate) fn missing<'a, 'v>(
    notification: &'a Notification,
    platform: &str,
    language: &str,
    value: impl Fn(&str) -> Option<Cow<'v, str>>,
) -> Option<&'a str> {
    choose(notification, platform, language).into_iter().flatten().flat_map(pieces).find_map(|piece| {
        match piece {
            Piece::Value { name, without: None } if value(name).is_none() => Some(name),
            _ => None,
        }
    })
}

/// A device's payload: JSON of the push's id and the texts of its variant. A missing value becomes
/// an empty text.
pub(crate) fn json<'v>(
    push: Option<PushId>,
    notification: &Notification,
    platform: &str,
    language: &str,
    value: impl Fn(&str) -> Option<Cow<'v, str>>,
) -> Bytes {
    let [title, body, data] = choose(notification, platform, language);
    let mut out = String::with_capacity(64);
    out.push('{');
    if let Some(push) = push {
        let _ = write!(out, "\"push\":\"{push}\"");
    }
    for (name, text) in [("title", title), ("body", body)] {
        let Some(text) = text else { continue };
        if out.len() > 1 {
            out.push(',');
        }
        let _ = write!(out, "\"{name}\":\"");
        for piece in pieces(text) {
            match piece {
                Piece::Words(words) => escape(&mut out, words),
                Piece::Value { name, without } => match value(name) {
                    Some(value) => escape(&mut out, &value),
                    None => escape(&mut out, without.unwrap_or_default()),
                },
            }
        }
        out.push('"');
    }
    if let Some(data) = data {
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str("\"data\":");
        // JSON holds `{{` only within strings, whose words are escaped already.
        for piece in pieces(data) {
            match piece {
                Piece::Words(words) => out.push_str(words),
                Piece::Value { name, without } => match value(name) {
                    Some(value) => escape(&mut out, &value),
                    None => out.push_str(without.unwrap_or_default()),
                },
            }
        }
    }
    out.push('}');
    Bytes::from(out)
}

/// Shows what a device would get, for previews: without a push's id.
///
/// # Errors
///
/// The name that it has no value for, though its words need one: it would be left out.
pub fn render<'v>(
    notification: &Notification,
    platform: &str,
    language: &str,
    value: impl Fn(&str) -> Option<Cow<'v, str>>,
) -> Result<Bytes, String> {
    match missing(notification, platform, language, &value) {
        Some(name) => Err(name.to_owned()),
        None => Ok(json(None, notification, platform, language, value)),
    }
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(title: &str, body: &str) -> Words {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        Words { title: some(title), body: some(body), data: None }
    }

    fn show(notification: &Notification, platform: &str, language: &str) -> Result<String, String> {
        let value = |name: &str| match name {
            "name" => Some(Cow::Borrowed("Eva \"E\"")),
            "score" => Some(Cow::Borrowed("17")),
            _ => None,
        };
        render(notification, platform, language, value)
            .map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[test]
    fn each_text_is_the_platforms_or_the_longest_languages_or_everybodys() {
        let notification = Notification {
            words: words("hello", "all"),
            platforms: vec![("ios".into(), words("", "phone"))],
            languages: vec![("de".into(), words("hallo", "alle")), ("de-AT".into(), words("servus", ""))],
        };
        for (platform, language, expected) in [
            ("", "", r#"{"title":"hello","body":"all"}"#),
            ("ios", "en", r#"{"title":"hello","body":"phone"}"#),
            ("ios", "de", r#"{"title":"hallo","body":"phone"}"#),
            ("web", "de-DE", r#"{"title":"hallo","body":"alle"}"#),
            ("web", "de-AT", r#"{"title":"servus","body":"all"}"#),
            ("web", "den", r#"{"title":"hello","body":"all"}"#),
        ] {
            assert_eq!(show(&notification, platform, language).unwrap(), expected, "{platform} {language}");
        }
    }

    #[test]
    fn values_take_the_place_of_their_names() {
        let mut notification = Notification {
            words: words("Hi {{ name }}", "{{score}} {{level|none yet}}"),
            ..Default::default()
        };
        notification.words.data = Some(r#"{"a":{"to":"x/{{name}}","l":"{{level|\"q\"}}"},"n":1}"#.into());
        let shown = show(&notification, "", "").unwrap();
        let json: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(json["title"], "Hi Eva \"E\"");
        assert_eq!(json["body"], "17 none yet");
        assert_eq!(json["data"]["a"]["to"], "x/Eva \"E\"");
        assert_eq!(json["data"]["a"]["l"], "\"q\"");
        notification.words.body = Some("{{level}}".into());
        assert_eq!(show(&notification, "", ""), Err("level".into()));
    }

    #[test]
    fn texts_that_are_no_templates_are_refused_with_the_place() {
        for (text, expected) in [
            ("{{name}} {x} }}", None),
            ("{{name|a|b}}", None),
            ("ab {{name", Some("byte 3")),
            ("{{}}", Some("byte 0")),
            ("{{ |x}}", Some("byte 0")),
            ("x{{a{{b}}}}", Some("byte 1")),
            ("{{a|{{b}}}}", Some("holds another one")),
        ] {
            let result = check("title", text);
            match expected {
                None => assert!(result.is_ok(), "{text}"),
                Some(part) => {
                    let reason = result.expect_err(text).to_string();
                    assert!(reason.contains(part), "{text}: {reason}");
                }
            }
        }
    }
}
