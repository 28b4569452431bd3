//! Selectors in words, for people who ask why a device is not in an audience.

use std::fmt::{self, Write as _};

use crate::value::date_text;
use crate::{Comparison, Edge, Selector, Span, VersionRange};

/// Clauses of an `or` that are named before the others are only counted.
const NAMED_MAX: usize = 4;

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Selector::All => f.write_str("all devices"),
            Selector::Tag(tag) => match &tag.group {
                Some(group) => write!(f, "tag {:?} of group {:?}", tag.name.as_str(), group.as_str()),
                None => write!(f, "tag {:?}", tag.name.as_str()),
            },
            Selector::User(user) => write!(f, "named user {:?}", user.as_str()),
            Selector::Device(device) => write!(f, "device {:?}", device.as_str()),
            Selector::Devices(devices) => write!(f, "one of {} devices", devices.len()),
            Selector::List(list) => write!(f, "list {:?}", list.as_str()),
            Selector::Attribute { name, is } => write!(f, "attribute {:?} {is}", name.as_str()),
            Selector::Platform(platform) => write!(f, "platform {platform}"),
            Selector::Version(range) => write!(f, "app version {range}"),
            Selector::Language(language) => write!(f, "language {language}"),
            Selector::Country(country) => write!(f, "country {country}"),
            Selector::TimeZone(zone) => write!(f, "time zone {zone}"),
            Selector::LastSeen(span) => write!(f, "last seen {span}"),
            Selector::Registered(span) => write!(f, "registered {span}"),
            Selector::Within(circle) => write!(
                f,
                "within {} m of {}, {}",
                circle.radius_m,
                circle.centre.latitude(),
                circle.centre.longitude()
            ),
            Selector::OptedIn(true) => f.write_str("opted in"),
            Selector::OptedIn(false) => f.write_str("opted out"),
            Selector::And(clauses) => joined(f, clauses, "all of"),
            Selector::Or(clauses) => joined(f, clauses, "one of"),
            Selector::Not(clause) => write!(f, "not {clause}"),
        }
    }
}

fn joined(f: &mut fmt::Formatter<'_>, clauses: &[Selector], how: &str) -> fmt::Result {
    f.write_str(how)?;
    for (at, clause) in clauses.iter().take(NAMED_MAX).enumerate() {
        f.write_str(if at == 0 { " (" } else { ", " })?;
        write!(f, "{clause}")?;
    }
    if clauses.len() > NAMED_MAX {
        write!(f, ", and {} more", clauses.len() - NAMED_MAX)?;
    }
    f.write_char(')')
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Comparison::Equals(value) => write!(f, "equal to {value}"),
            Comparison::NotEquals(value) => write!(f, "other than {value}"),
            Comparison::Range { from, to } => {
                let edge =
                    |edge: &Option<Edge>| edge.as_ref().map(|edge| (edge.value.to_string(), edge.included));
                range(f, edge(from), edge(to))
            }
            Comparison::Contains(text) => write!(f, "containing {text:?}"),
            Comparison::WithinSeconds(seconds) => write!(f, "within the last {seconds} s"),
            Comparison::Exists(true) => f.write_str("there"),
            Comparison::Exists(false) => f.write_str("not there"),
        }
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.from, &self.to) {
            (Some((from, true)), Some((to, true))) if from == to => write!(f, "{from}"),
            (from, to) => {
                let edge = |edge: &Option<(crate::AppVersion, bool)>| {
                    edge.as_ref().map(|(version, included)| (version.to_string(), *included))
                };
                range(f, edge(from), edge(to))
            }
        }
    }
}

fn range(
    f: &mut fmt::Formatter<'_>,
    from: Option<(String, bool)>,
    to: Option<(String, bool)>,
) -> fmt::Result {
    if from.is_none() && to.is_none() {
        return f.write_str("any");
    }
    if let Some((edge, included)) = &from {
        write!(f, "{} {edge}", if *included { "at least" } else { "above" })?;
    }
    if let Some((edge, included)) = &to {
        let and = if from.is_some() { " and " } else { "" };
        write!(f, "{and}{} {edge}", if *included { "at most" } else { "below" })?;
    }
    Ok(())
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timestamp =
            |second: u64| date_text(i64::try_from(second).unwrap_or(i64::MAX).saturating_mul(1_000));
        match *self {
            Span::WithinSeconds(seconds) => write!(f, "within the last {seconds} s"),
            Span::Between { from: None, to: None } => f.write_str("at any time"),
            Span::Between { from: Some(from), to: None } => write!(f, "at or after {}", timestamp(from)),
            Span::Between { from: None, to: Some(to) } => write!(f, "before {}", timestamp(to)),
            Span::Between { from: Some(from), to: Some(to) } => {
                write!(f, "from {} until before {}", timestamp(from), timestamp(to))
            }
        }
    }
}
