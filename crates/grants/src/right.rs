//! The right that an endpoint, a method or a topic rule asks for: a row of a door's table.

use std::fmt;
use std::str::FromStr;

use crate::invalid::Invalid;
use crate::verb::{Kind, Verb};

/// A verb and the resource that a request names: `queue.put:{queue}`.
///
/// A name in braces stands for a part of the request. Where the door knows the part (of a path, for
/// instance) it asks by itself; else the handler asks, once it has read the request. A right that
/// ends with `?` is the handler's: it is asked for only if the request has such a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    verb: Verb,
    parts: Vec<Part>,
    optional: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Named(String),
}

impl Right {
    /// The verb.
    pub fn verb(&self) -> Verb {
        self.verb
    }

    /// Whether it is asked for only if the request has such a part.
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// The resource of a request, put together into `into` from its parts; whether all were known.
    pub fn resource<'a>(&self, into: &mut String, part: impl Fn(&str) -> Option<&'a str>) -> bool {
        into.clear();
        self.parts.iter().all(|piece| match piece {
            Part::Text(text) => {
                into.push_str(text);
                true
            }
            Part::Named(name) => part(name).is_some_and(|value| {
                into.push_str(value);
                true
            }),
        })
    }
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verb.fmt(f)?;
        if self.verb.kind() == Kind::Node {
            return Ok(());
        }
        f.write_str(":")?;
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Named(name) => write!(f, "{{{name}}}"),
        })?;
        f.write_str(if self.optional { "?" } else { "" })
    }
}

impl FromStr for Right {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (whole, optional) = match text.strip_suffix('?') {
            Some(whole) => (whole, true),
            None => (text, false),
        };
        let (verb, resource) = whole.split_once(':').unwrap_or((whole, "*"));
        let verb: Verb = verb.parse()?;
        let unclosed = || Invalid(format!("`{text}` has a brace without its partner"));
        let mut parts = Vec::new();
        let mut rest = resource;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, behind) = after.split_once('}').ok_or_else(unclosed)?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::Named(name.to_owned()));
            rest = behind;
        }
        if rest.contains('}') {
            return Err(unclosed());
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        if parts.is_empty() || (verb.kind() == Kind::Node) != (resource == "*" && !text.contains(':')) {
            return Err(Invalid(format!("`{text}` names no resource of `{verb}`")));
        }
        Ok(Self { verb, parts, optional })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_read_written_and_filled_in() {
        let mut resource = String::new();
        let part = |name: &str| {
            [("app", "shop"), ("device", "p7")]
                .into_iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value)
        };
        for (text, expected) in [
            ("device.read:{app}/{device}", Some("shop/p7")),
            ("device.read:{app}/*", Some("shop/*")),
            ("push.send:default", Some("default")),
            ("node.read", Some("*")),
            ("wallet.transfer:debit={wallet}", None),
            ("queue.put:{to}?", None),
        ] {
            let right: Right = text.parse().expect("right");
            assert_eq!(right.to_string(), text);
            let known = right.resource(&mut resource, part);
            assert_eq!(known.then_some(resource.as_str()), expected, "{text}");
        }
        for wrong in ["", "x:y", "queue.put", "queue.put:", "queue.put:{a", "queue.put:a}", "node.read:x"] {
            assert!(wrong.parse::<Right>().is_err(), "{wrong}");
        }
    }
}
