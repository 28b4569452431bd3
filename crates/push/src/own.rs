//! Requests that a device makes about itself, and the tags and attributes that its app lets it set.
//!
//! A device reports the pushes that its user opened and clicked, settles those of its inbox, and
//! opts in and out, without a setting. Tags and attributes it changes where a pattern of
//! [`DeviceWritable`] names them. Every way in (MQTT, HTTP) reads a request here and hands it to
//! the device's shard as [`Command::Own`](crate::Command::Own), so that the same request has the
//! same outcome.

use compact_str::CompactString;
use serde::Deserialize;
use serde_json::Value as Json;
use stadium_registry::{Changes, Mistake, Tag};
use stadium_state_machine::encoding::{Reader, corrupt, number, text};

use crate::refusal::{APP_UNKNOWN, DEVICE_UNKNOWN, NOT_SENT, NOT_WRITABLE, PUSH_UNKNOWN, REVOKED};
use crate::{ClickAction, Corrupt, PushId, Refusal};

/// Patterns of tags, and of attributes, that an app may list.
const PATTERNS_MAX: usize = 64;

/// Bytes of a pattern: the longest group, a colon, the longest name of a tag and a star.
const PATTERN_BYTES_MAX: usize = 194;

/// The attribute in which the HTTP API keeps a device's Web Push subscriptions: no pattern covers
/// it.
const WEB_PUSH: &str = "webpush";

/// Tags and attributes that the devices of an app may change by themselves; none by default.
///
/// A pattern is a name, or the beginning of names and `*`. That of a tag is written as a tag is:
/// `news-*` are tags of the default group, `loyalty:*` those of the group `loyalty`. A pattern
/// never reaches into another group, so a list is writable only where a pattern says `list:`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceWritable {
    /// Patterns of tags, at most 64.
    pub tags: Vec<CompactString>,
    /// Patterns of attributes, at most 64.
    pub attributes: Vec<CompactString>,
}

impl DeviceWritable {
    /// Checks the number of patterns and each of them.
    ///
    /// # Errors
    ///
    /// The first pattern that is out of bounds, in words.
    pub fn check(&self) -> Result<(), String> {
        for (kind, patterns) in [("tags", &self.tags), ("attributes", &self.attributes)] {
            if patterns.len() > PATTERNS_MAX {
                return Err(format!(
                    "device_writable.{kind} has {} patterns; at most {PATTERNS_MAX} are allowed",
                    patterns.len()
                ));
            }
            for pattern in patterns {
                if !(1..=PATTERN_BYTES_MAX).contains(&pattern.len()) {
                    return Err(format!(
                        "a pattern of device_writable.{kind} has {} bytes; 1 to {PATTERN_BYTES_MAX} are allowed",
                        pattern.len()
                    ));
                }
                if pattern[..pattern.len() - 1].contains('*') || pattern.chars().any(char::is_control) {
                    return Err(format!(
                        "{pattern:?} in device_writable.{kind} is no pattern: it is a name, or the beginning of names and `*`"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The first tag or attribute among these changes that a device may not change, as text.
    pub(crate) fn first_refused(&self, changes: &Changes) -> Option<String> {
        let is_writable = |tag: &&Tag| self.tags.iter().any(|pattern| covers_tag(pattern, tag));
        let tag = changes.tags_removed.iter().chain(&changes.tags_added).find(|tag| !is_writable(tag));
        if let Some(tag) = tag {
            return Some(format!("tag {:?}", tag.to_string()));
        }
        let is_writable =
            |name: &str| name != WEB_PUSH && self.attributes.iter().any(|pattern| covers(pattern, name));
        let mut names = changes.attributes.iter().map(|(name, _)| name.as_str());
        let name = names.find(|name| !is_writable(name))?;
        Some(format!("attribute {name:?}"))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.attributes.is_empty()
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for patterns in [&self.tags, &self.attributes] {
            number(out, patterns.len() as u64);
            patterns.iter().for_each(|pattern| text(out, pattern));
        }
    }

    pub(crate) fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let mut patterns = || {
            let count = input.small::<usize>()?;
            if count > PATTERNS_MAX {
                return Err(corrupt("more patterns than an app may have"));
            }
            (0..count).map(|_| input.text().map(CompactString::from)).collect::<Result<Vec<_>, _>>()
        };
        let writable = Self { tags: patterns()?, attributes: patterns()? };
        writable.check().map_err(corrupt)?;
        Ok(writable)
    }
}

/// Whether a pattern names this tag.
fn covers_tag(pattern: &str, tag: &Tag) -> bool {
    let (group, names) = pattern.split_once(':').unwrap_or(("", pattern));
    group == tag.group() && covers(names, tag.name.as_str())
}

fn covers(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

/// A request of a device about itself.
#[derive(Debug, Clone, PartialEq)]
pub enum OwnRequest {
    /// Its user opened this push.
    Opened(PushId),
    /// Its user clicked this push, or this action of it.
    Clicked(PushId, Option<ClickAction>),
    /// It has these pushes of its inbox, 1 to [`Self::SETTLED_MAX`], and is owed them no more.
    Settle(Vec<PushId>),
    /// Its tags, its attributes, and whether it is opted in.
    Change(Box<Changes>),
}

/// The body by which a device reports a push as opened.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenedBody {
    push: String,
}

/// The body by which a device reports a push as clicked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClickedBody {
    push: String,
    action: Option<String>,
}

impl OwnRequest {
    /// Bytes of a request, at most: as much as the tags and attributes of a device need.
    pub const BYTES_MAX: usize = 64 << 10;

    /// Pushes that one request settles, at most: as many as a page of an inbox has.
    pub const SETTLED_MAX: usize = crate::inbox::PAGE_MAX as usize;

    /// Whether a refusal denies the device what it asks. Other ones concern the form of the request
    /// and the bounds of a device.
    pub fn is_denied_by(refusal: &Refusal) -> bool {
        matches!(
            refusal.code(),
            APP_UNKNOWN | DEVICE_UNKNOWN | PUSH_UNKNOWN | NOT_SENT | REVOKED | NOT_WRITABLE
        )
    }

    /// Reads `{"push": "ID"}`.
    ///
    /// # Errors
    ///
    /// The mistake in the bytes, in words.
    pub fn opened(json: &[u8]) -> Result<Self, String> {
        let body: OpenedBody = parse(json)?;
        body.push.parse().map(Self::Opened).map_err(|error| format!("push: {error}"))
    }

    /// Reads `{"push": "ID", "action": "NAME"}`; the action may be left out.
    ///
    /// # Errors
    ///
    /// The mistake in the bytes, in words.
    pub fn clicked(json: &[u8]) -> Result<Self, String> {
        let body: ClickedBody = parse(json)?;
        let push = body.push.parse().map_err(|error| format!("push: {error}"))?;
        let action = body.action.as_deref().map(ClickAction::new).transpose();
        Ok(Self::Clicked(push, action.map_err(|error| format!("action: {error}"))?))
    }

    /// Reads `{"tags": {"add": [], "remove": []}, "attributes": {}, "opted_in": true}`, each field
    /// of which may be left out, but not all.
    ///
    /// # Errors
    ///
    /// The mistake in the bytes, in words, with its place.
    pub fn change(json: &[u8]) -> Result<Self, String> {
        Self::change_of(&parse(json)?).map_err(|mistake| mistake.to_string())
    }

    /// As [`Self::change`], of JSON that is read already.
    ///
    /// # Errors
    ///
    /// Where the mistake is, and what is allowed there.
    pub fn change_of(json: &Json) -> Result<Self, Mistake> {
        let changes = Changes::parse_own(json)?;
        if changes.is_empty() {
            return Err(Mistake { path: String::new(), reason: "it changes nothing".to_owned() });
        }
        Ok(Self::Change(Box::new(changes)))
    }
}

fn parse<T: serde::de::DeserializeOwned>(json: &[u8]) -> Result<T, String> {
    if json.len() > OwnRequest::BYTES_MAX {
        return Err(format!("it has {} bytes; at most {} are allowed", json.len(), OwnRequest::BYTES_MAX));
    }
    serde_json::from_slice(json).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writable(tags: &[&str], attributes: &[&str]) -> DeviceWritable {
        let list = |texts: &[&str]| texts.iter().map(|&text| text.into()).collect();
        DeviceWritable { tags: list(tags), attributes: list(attributes) }
    }

    fn changes(json: &str) -> Changes {
        match OwnRequest::change(json.as_bytes()) {
            Ok(OwnRequest::Change(changes)) => *changes,
            other => panic!("{json}: {other:?}"),
        }
    }

    #[test]
    fn a_pattern_covers_names_of_its_own_group_alone() {
        for (pattern, tag, covered) in [
            ("news-*", "news-local", true),
            ("news-*", "news", false),
            ("news-*", "sport:news-local", false),
            ("*", "anything", true),
            ("*", "list:vip", false),
            ("*", "loyalty:gold", false),
            ("loyalty:*", "loyalty:gold", true),
            ("loyalty:gold", "loyalty:golden", false),
            ("list:*", "list:vip", true),
        ] {
            let refused = writable(&[pattern], &[]).first_refused(&Changes {
                tags_added: vec![tag.parse().expect("a tag")],
                ..Changes::default()
            });
            assert_eq!(refused.is_none(), covered, "{pattern} {tag}");
        }
    }

    #[test]
    fn the_first_tag_or_attribute_outside_the_setting_is_named() {
        let writable = writable(&["news-*"], &["language"]);
        for (json, refused) in [
            (r#"{"tags": {"add": ["news-a"], "remove": ["news-b"]}}"#, None),
            (r#"{"tags": {"add": ["news-a", "vip"]}}"#, Some("tag \"vip\"")),
            (r#"{"tags": {"remove": ["vip"]}}"#, Some("tag \"vip\"")),
            (r#"{"attributes": {"language": "de"}}"#, None),
            (r#"{"attributes": {"balance": 1}}"#, Some("attribute \"balance\"")),
            (r#"{"attributes": {"balance": null}}"#, Some("attribute \"balance\"")),
            (r#"{"opted_in": false}"#, None),
        ] {
            assert_eq!(writable.first_refused(&changes(json)).as_deref(), refused, "{json}");
        }
        let everything = DeviceWritable { attributes: vec!["*".into()], ..DeviceWritable::default() };
        assert!(everything.first_refused(&changes(r#"{"attributes": {"balance": 1}}"#)).is_none());
        assert!(everything.first_refused(&changes(r#"{"attributes": {"webpush": "x"}}"#)).is_some());
        let none = DeviceWritable::default();
        assert!(none.first_refused(&changes(r#"{"tags": {"add": ["news-a"]}}"#)).is_some());
        assert!(none.first_refused(&changes(r#"{"opted_in": true}"#)).is_none());
    }

    #[test]
    fn a_request_that_is_none_is_refused_with_its_mistake() {
        for (json, reason) in [
            ("", "EOF"),
            ("[]", "object"),
            ("{}", "changes nothing"),
            (r#"{"tags": ["news-a"]}"#, "tags"),
            (r#"{"tags": {"set": ["news-a"]}}"#, "set"),
            (r#"{"revoked": false}"#, "revoked"),
            (r#"{"named_user": "anna"}"#, "named_user"),
            (r#"{"opted_in": 1}"#, "opted_in"),
        ] {
            let refused = OwnRequest::change(json.as_bytes()).expect_err(json);
            assert!(refused.contains(reason), "{json}: {refused}");
        }
        let id = "000102030405060708090a0b0c0d0e0f";
        let opened = OwnRequest::opened(format!(r#"{{"push": "{id}"}}"#).as_bytes());
        assert_eq!(opened, Ok(OwnRequest::Opened(id.parse().expect("an id"))));
        for json in [r#"{"push": "x"}"#, r#"{"push": 1}"#, "{}", r#"{"push": "", "device": "b"}"#] {
            assert!(OwnRequest::opened(json.as_bytes()).is_err(), "{json}");
        }
        let clicked = |rest: &str| OwnRequest::clicked(format!(r#"{{"push": "{id}"{rest}}}"#).as_bytes());
        let push = id.parse().expect("an id");
        assert_eq!(clicked(""), Ok(OwnRequest::Clicked(push, None)));
        let buy = ClickAction::new("buy").expect("a name");
        assert_eq!(clicked(r#", "action": "buy""#), Ok(OwnRequest::Clicked(push, Some(buy))));
        let longest = "x".repeat(ClickAction::BYTES_MAX);
        assert!(clicked(&format!(r#", "action": "{longest}""#)).is_ok());
        for action in [&format!("{longest}x"), "", r"\u0007"] {
            let refused = clicked(&format!(r#", "action": "{action}""#)).expect_err(action);
            assert!(refused.starts_with("action: "), "{refused}");
        }
        let long = format!(r#"{{"push": "{}"}}"#, "0".repeat(OwnRequest::BYTES_MAX));
        assert!(OwnRequest::opened(long.as_bytes()).expect_err("it is long").contains("at most"));
    }

    #[test]
    fn patterns_are_bounded_and_end_with_their_star() {
        assert_eq!(writable(&["a", "b*", "*", "g:*"], &["x*"]).check(), Ok(()));
        for wrong in ["", "a*b", "**", "a\n", &"a".repeat(PATTERN_BYTES_MAX + 1)] {
            assert!(writable(&[wrong], &[]).check().is_err(), "{wrong:?}");
            assert!(writable(&[], &[wrong]).check().is_err(), "{wrong:?}");
        }
        assert!(writable(&["a"; PATTERNS_MAX + 1], &[]).check().is_err());
    }
}
