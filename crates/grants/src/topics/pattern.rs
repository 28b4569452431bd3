//! One topic pattern of a rule, and its two questions: does it cover a filter, does it overlap one.
//!
//! A pattern is a topic filter whose levels may hold `%u` and `%c`. A substituted value is compared as text
//! within one level, never parsed: no client identifier makes the pattern wider. Only the
//! identifier of an app's device, `APP/DEVICE`, stands for two plain levels where `%c` is a level.
//! An allowing rule asks [`Pattern::covers`], a denying one [`Pattern::overlaps`], so that nobody
//! reads a denied topic by asking for a wider filter. Checks neither allocate nor recurse.

use super::principal::Principal;

/// A compiled pattern.
///
/// ```text
/// uplink/site-1/%c/#
/// '-- prefix --' '-- rest: [Client, Hash]
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// The plain levels in front, with the slashes between them; compared at once. Meaningless when
    /// `plain_levels` is 0.
    prefix: Box<str>,
    /// Levels in `prefix`. Not its slashes + 1 when there are none: `""` may be one empty level.
    plain_levels: usize,
    /// The levels from the first that is not plain.
    rest: Box<[Level]>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Level {
    Text(Box<str>),
    Any,
    AnyBelow,
    User,
    Client,
    /// Text and placeholders in one level, such as `dev-%c`.
    Mixed(Box<[Part]>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(Box<str>),
    User,
    Client,
}

/// What stands for a placeholder, or that nothing safe does.
enum Value<'a> {
    Text(&'a str),
    Unsafe,
}

impl Pattern {
    /// Compiles `text`, or returns a description of its mistake.
    pub(super) fn parse(text: &str) -> Result<Self, &'static str> {
        if text.is_empty() || text.len() > 65_535 || text.contains('\0') {
            return Err("a topic has 1 to 65535 bytes and no null character");
        }
        if text.starts_with("$share/") {
            return Err("name the filter itself: $share/group/filter is checked as filter");
        }
        let levels = text.split('/').map(Level::parse).collect::<Result<Vec<_>, _>>()?;
        if levels.iter().rev().skip(1).any(|level| *level == Level::AnyBelow) {
            return Err("# stands only in the last level");
        }
        let plain_levels = levels.iter().take_while(|level| matches!(level, Level::Text(_))).count();
        let prefix = levels[..plain_levels].iter().filter_map(Level::as_text).collect::<Vec<_>>().join("/");
        Ok(Self { prefix: prefix.into(), plain_levels, rest: levels[plain_levels..].into() })
    }

    /// Whether every topic that `asked` matches is one of this pattern's. `asked` is a well-formed
    /// filter or topic name, see [`is_filter`]. A placeholder without a safe value covers nothing.
    ///
    /// A topic that starts with `$` is covered only by a pattern whose first level names it.
    pub(super) fn covers(&self, asked: &str, who: &Principal<'_>) -> bool {
        let mut asked = if self.plain_levels == 0 {
            if asked.starts_with('$') {
                return false;
            }
            Some(asked)
        } else {
            // A plain prefix holds no wildcard, so it can only be covered where it is asked for literally.
            let Some(after) = asked.strip_prefix(&*self.prefix) else { return false };
            match after.as_bytes().first() {
                None => None,
                Some(b'/') => Some(&after[1..]),
                Some(_) => return false,
            }
        };
        for level in &self.rest {
            if *level == Level::AnyBelow {
                // `a/#` covers `a` itself too (MQTT 5.0, 4.7.1.2).
                return true;
            }
            let Some(remaining) = asked else { return false };
            if let Some((app, device)) = level.of_app(who) {
                let (first, after) = split_level(remaining);
                let (second, after) = split_level(after.unwrap_or_default());
                if first != app || second != device {
                    return false;
                }
                asked = after;
                continue;
            }
            let (first, after) = split_level(remaining);
            if !level.covers_level(first, who) {
                return false;
            }
            asked = after;
        }
        asked.is_none()
    }

    /// Whether some topic is matched by both `asked` and this pattern. A placeholder without a safe value
    /// counts as `#`, because a rule that denies must not lose its effect by a strange name.
    pub(super) fn overlaps(&self, asked: &str, who: &Principal<'_>) -> bool {
        // A leading wildcard matches no topic that starts with `$` (MQTT 5.0, 4.7.2), on either side.
        if asked.starts_with('$') && self.plain_levels == 0 {
            return false;
        }
        if self.prefix.starts_with('$') && asked.starts_with(['+', '#']) {
            return false;
        }
        let mut asked = Some(asked);
        if self.plain_levels > 0 {
            for text in self.prefix.split('/') {
                match past_text(asked, text) {
                    Ok(after) => asked = after,
                    Err(overlaps) => return overlaps,
                }
            }
        }
        for level in &self.rest {
            if *level == Level::AnyBelow {
                return true;
            }
            if let Some((app, device)) = level.of_app(who) {
                match past_text(asked, app).and_then(|after| past_text(after, device)) {
                    Ok(after) => asked = after,
                    Err(overlaps) => return overlaps,
                }
                continue;
            }
            let Some(remaining) = asked else { return level.is_unsafe(who) };
            let (first, after) = split_level(remaining);
            if first == "#" || level.is_unsafe(who) {
                return true;
            }
            if first != "+" && !level.covers_level(first, who) {
                return false;
            }
            asked = after;
        }
        // `a/#` asked of the pattern `a`: the parent level matches as well.
        matches!(asked, None | Some("#"))
    }
}

impl Level {
    fn parse(text: &str) -> Result<Self, &'static str> {
        match text {
            "+" => return Ok(Self::Any),
            "#" => return Ok(Self::AnyBelow),
            "%u" => return Ok(Self::User),
            "%c" => return Ok(Self::Client),
            _ if text.contains(['+', '#']) => return Err("+ and # stand alone in a level"),
            _ if !text.contains('%') => return Ok(Self::Text(text.into())),
            _ => {}
        }
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            if char != '%' {
                plain.push(char);
                continue;
            }
            let part = match chars.next() {
                Some('u') => Part::User,
                Some('c') => Part::Client,
                Some('%') => {
                    plain.push('%');
                    continue;
                }
                _ => return Err("after % stands u (user), c (client identifier) or another %"),
            };
            if !plain.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut plain).into()));
            }
            parts.push(part);
        }
        if parts.is_empty() {
            return Ok(Self::Text(plain.into()));
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain.into()));
        }
        Ok(Self::Mixed(parts.into()))
    }

    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether this level covers the one level `asked`, which may be `+` or `#`.
    fn covers_level(&self, asked: &str, who: &Principal<'_>) -> bool {
        if asked == "#" {
            return false;
        }
        match self {
            Self::Any | Self::AnyBelow => true,
            // No text and no safe value is `+`, so a wildcard is never equal to one.
            Self::Text(text) => **text == *asked,
            Self::User => is_value(user(who), asked),
            Self::Client => is_value(client(who), asked),
            Self::Mixed(parts) => {
                let mut remaining = asked;
                for part in parts {
                    let text = match part {
                        Part::Text(text) => text,
                        Part::User => match user(who) {
                            Value::Text(text) => text,
                            Value::Unsafe => return false,
                        },
                        Part::Client => match client(who) {
                            Value::Text(text) => text,
                            Value::Unsafe => return false,
                        },
                    };
                    match remaining.strip_prefix(text) {
                        Some(after) => remaining = after,
                        None => return false,
                    }
                }
                remaining.is_empty()
            }
        }
    }

    /// The two levels that it stands for, where it is `%c` and the client identifier is `APP/DEVICE`.
    fn of_app<'a>(&self, who: &Principal<'a>) -> Option<(&'a str, &'a str)> {
        if *self != Self::Client {
            return None;
        }
        let (app, device) = who.client_id.split_once('/')?;
        let in_app = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
        let is_app = !app.is_empty() && app.bytes().all(in_app);
        (is_app && matches!(safe(device), Value::Text(_))).then_some((app, device))
    }

    /// Whether it holds a placeholder that has no safe value for `who`.
    fn is_unsafe(&self, who: &Principal<'_>) -> bool {
        let missing = |part: &Part| match part {
            Part::Text(_) => false,
            Part::User => matches!(user(who), Value::Unsafe),
            Part::Client => matches!(client(who), Value::Unsafe),
        };
        match self {
            Self::Text(_) | Self::Any | Self::AnyBelow => false,
            Self::User => missing(&Part::User),
            Self::Client => missing(&Part::Client),
            Self::Mixed(parts) => parts.iter().any(missing),
        }
    }
}

fn user<'a>(who: &Principal<'a>) -> Value<'a> {
    safe(who.user)
}

fn client<'a>(who: &Principal<'a>) -> Value<'a> {
    safe(who.client_id)
}

/// A value stands for a placeholder only when it is one plain level: not empty, no separator, no wildcard.
fn safe(value: &str) -> Value<'_> {
    let odd = |byte: &u8| matches!(byte, b'/' | b'+' | b'#' | 0);
    if value.is_empty() || value.as_bytes().iter().any(odd) {
        return Value::Unsafe;
    }
    Value::Text(value)
}

fn is_value(value: Value<'_>, asked: &str) -> bool {
    // Equal first: the scan for odd bytes is then made only for the rule that is about to match.
    matches!(value, Value::Text(text) if text == asked)
}

/// What is left of a filter after a plain level; or whether they overlap, where that decides.
fn past_text<'a>(asked: Option<&'a str>, text: &str) -> Result<Option<&'a str>, bool> {
    let (first, after) = split_level(asked.ok_or(false)?);
    match first {
        "#" => Err(true),
        "+" => Ok(after),
        _ if first == text => Ok(after),
        _ => Err(false),
    }
}

/// The first level, and what follows its slash.
fn split_level(text: &str) -> (&str, Option<&str>) {
    match memchr::memchr(b'/', text.as_bytes()) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// Whether `text` is a topic name: at least one byte, no wildcard, no null.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && memchr::memchr3(b'+', b'#', 0, text.as_bytes()).is_none()
}

/// Whether `text` is a topic filter by MQTT 5.0, 4.7.1: wildcards alone in their level, `#` last.
pub(super) fn is_filter(text: &str) -> bool {
    if text.is_empty() {
        return false;
    }
    let bytes = text.as_bytes();
    memchr::memchr3_iter(b'+', b'#', 0, bytes).all(|at| {
        let alone_before = at == 0 || bytes[at - 1] == b'/';
        match bytes[at] {
            b'+' => alone_before && bytes.get(at + 1).is_none_or(|next| *next == b'/'),
            b'#' => alone_before && at + 1 == bytes.len(),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::Via;

    fn who<'a>(user: &'a str, client_id: &'a str) -> Principal<'a> {
        Principal { user, client_id, groups: &[], via: Via::Password }
    }

    #[test]
    fn a_pattern_covers_what_it_says_and_no_more() {
        let anna = who("anna", "d1");
        // pattern, asked, covers, overlaps
        let table = [
            ("a/b", "a/b", true, true),
            ("a/b", "a/bc", false, false),
            ("a/b", "a/b/c", false, false),
            ("a/b", "a", false, false),
            ("a/b", "a/+", false, true),
            ("a/b", "+/b", false, true),
            ("a/b", "#", false, true),
            ("a", "a/#", false, true),
            ("a/#", "a", true, true),
            ("a/#", "a/#", true, true),
            ("a/#", "a/+/c", true, true),
            ("a/#", "ab", false, false),
            ("a/+", "a/b", true, true),
            ("a/+", "a/+", true, true),
            ("a/+", "a/#", false, true),
            ("a/+", "a", false, false),
            ("a/+", "a/", true, true),
            ("a/+/c", "a/#", false, true),
            ("a/+/c", "a/+/d", false, false),
            ("a/+/c", "+/b/+", false, true),
            ("+/+", "+/#", false, true),
            ("+", "/", false, false),
            ("+/+", "/", true, true),
            ("/a", "/a", true, true),
            ("/a", "a", false, false),
            ("#", "a/b", true, true),
            ("#", "#", true, true),
            ("#", "$SYS/up", false, false),
            ("+/up", "$SYS/up", false, false),
            ("$SYS/#", "$SYS/up", true, true),
            ("$SYS/#", "#", false, false),
            ("$SYS/#", "+/up", false, false),
            ("inbox/%c", "inbox/d1", true, true),
            ("inbox/%c", "inbox/d2", false, false),
            ("inbox/%c", "inbox/+", false, true),
            ("inbox/%c/#", "inbox/d1", true, true),
            ("inbox/%c/#", "inbox/d1/#", true, true),
            ("inbox/%c/#", "inbox/#", false, true),
            ("%u/%c", "anna/d1", true, true),
            ("dev-%c-%u/x", "dev-d1-anna/x", true, true),
            ("dev-%c-%u/x", "dev-d1-anna2/x", false, false),
            ("dev-%c/x", "+/x", false, true),
            ("100%%", "100%", true, true),
        ];
        for (pattern, asked, covers, overlaps) in table {
            let compiled = Pattern::parse(pattern).expect("the table's patterns are well-formed");
            assert_eq!(compiled.covers(asked, &anna), covers, "{pattern} covers {asked}");
            assert_eq!(compiled.overlaps(asked, &anna), overlaps, "{pattern} overlaps {asked}");
        }
    }

    #[test]
    fn a_strange_name_widens_no_allowing_pattern_and_narrows_no_denying_one() {
        let asked = ["inbox/d2", "inbox/+", "inbox/#", "inbox/a/b", "inbox/", "inbox", "inbox/#/x"];
        for name in ["#", "+", "", "d2/#", "\0", "+/+", "/"] {
            let pattern = Pattern::parse("inbox/%c").expect("well-formed");
            let below = Pattern::parse("inbox/%c/private").expect("well-formed");
            let mixed = Pattern::parse("inbox/%c-x").expect("well-formed");
            for asked in asked {
                assert!(!pattern.covers(asked, &who("anna", name)), "{name:?} covers {asked}");
                assert!(!mixed.covers(asked, &who("anna", name)), "{name:?} covers {asked}");
            }
            assert!(below.overlaps("inbox/a/b/private", &who("anna", name)), "{name:?}");
            assert!(mixed.overlaps("inbox/a/b", &who("anna", name)), "{name:?}");
        }
        let first_level = Pattern::parse("%c/#").expect("well-formed");
        assert!(!first_level.covers("$SYS/#", &who("anna", "$SYS")));
    }

    #[test]
    fn patterns_that_cannot_be_meant_are_refused() {
        for text in ["", "a/#/b", "a+", "#a", "%x", "a%", "$share/g/a", "a\0", "%", "a/%/b"] {
            assert!(Pattern::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn filters_and_names_are_distinguished_from_malformed_text() {
        for good in ["a", "/", "#", "+", "+/+", "a/#", "/#", "a//b", "$SYS/#"] {
            assert!(is_filter(good), "{good:?}");
        }
        for bad in ["", "a#", "#/a", "a+", "+a", "a/+b", "a/#/", "a\0", "##", "++"] {
            assert!(!is_filter(bad), "{bad:?}");
        }
        assert!(is_name("a/b"));
        for bad in ["", "a/+", "#", "a\0b"] {
            assert!(!is_name(bad), "{bad:?}");
        }
    }
}
