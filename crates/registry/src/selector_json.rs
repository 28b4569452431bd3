//! Selectors as JSON, in the shape that push users know: docs/audiences.md.
//!
//! An object is one clause. A mistake is reported with its path and the allowed values.

use serde_json::{Map, Value as Json, json};

use crate::changes_json::{location, tag, value, value_json};
use crate::json::{Mistake, Place};
use crate::value::{date_text, parse_date};
use crate::{Circle, Comparison, DeviceId, Edge, Selector, Span, Tag, TagName, Value, VersionRange};

/// What a clause is called after.
const CLAUSES: &[&str] = &[
    "tag",
    "named_user",
    "device",
    "devices",
    "list",
    "attribute",
    "platform",
    "app_version",
    "language",
    "country",
    "time_zone",
    "last_seen",
    "registered",
    "location",
    "opted_in",
    "and",
    "or",
    "not",
];

/// What an attribute is compared by.
const COMPARISONS: &[&str] = &[
    "equals",
    "not_equals",
    "greater_than",
    "at_least",
    "less_than",
    "at_most",
    "before",
    "after",
    "contains",
    "within_s",
    "exists",
];

const EDGES: &[&str] = &["greater_than", "at_least", "less_than", "at_most", "before", "after"];

/// Metres around half the Earth.
const RADIUS_MAX_M: f64 = 20_037_508.0;

/// What is left of the bounds of a selector.
pub(crate) struct Budget {
    clauses: usize,
    devices: usize,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { clauses: Selector::CLAUSES_MAX, devices: Selector::DEVICES_MAX }
    }

    /// Whether there may be one more clause at that depth, and if not, why.
    pub(crate) fn clause(&mut self, depth: usize) -> Result<(), String> {
        if depth > Selector::DEPTH_MAX {
            return Err(format!("and, or and not stand in each other at most {} deep", Selector::DEPTH_MAX));
        }
        self.clauses = self
            .clauses
            .checked_sub(1)
            .ok_or_else(|| format!("a selector has at most {} clauses", Selector::CLAUSES_MAX))?;
        Ok(())
    }

    pub(crate) fn devices(&mut self, devices: usize) -> Result<(), String> {
        self.devices = self.devices.checked_sub(devices).ok_or_else(|| {
            format!("a selector names at most {} devices; put them on a list", Selector::DEVICES_MAX)
        })?;
        Ok(())
    }
}

impl Selector {
    /// The selector that a JSON value is.
    ///
    /// # Errors
    ///
    /// Where the mistake is and what is allowed there.
    pub fn parse(json: &Json) -> Result<Self, Mistake> {
        clause(&Place::whole(json), 0, &mut Budget::new())
    }

    /// The selector that a JSON text is.
    ///
    /// # Errors
    ///
    /// Where the mistake is and what is allowed there.
    pub fn parse_text(json: &str) -> Result<Self, Mistake> {
        let json = serde_json::from_str(json)
            .map_err(|error| Mistake { path: String::new(), reason: format!("it is no JSON: {error}") })?;
        Self::parse(&json)
    }

    /// It as JSON, as [`Self::parse`] reads it.
    pub fn to_json(&self) -> Json {
        match self {
            Selector::All => json!("all"),
            Selector::Tag(Tag { group: None, name }) if !name.as_str().contains(':') => {
                json!({ "tag": name })
            }
            Selector::Tag(tag) => json!({ "tag": tag.name, "group": tag.group() }),
            Selector::User(user) => json!({ "named_user": user }),
            Selector::Device(device) => json!({ "device": device }),
            Selector::Devices(devices) => json!({ "devices": devices }),
            Selector::List(list) => json!({ "list": list }),
            Selector::Attribute { name, is } => {
                let mut clause = comparison_json(is);
                clause.insert("attribute".into(), json!(name));
                Json::Object(clause)
            }
            Selector::Platform(platform) => json!({ "platform": platform }),
            Selector::Version(range) => json!({ "app_version": version_json(range) }),
            Selector::Language(language) => json!({ "language": language }),
            Selector::Country(country) => json!({ "country": country }),
            Selector::TimeZone(zone) => json!({ "time_zone": zone }),
            Selector::LastSeen(span) => json!({ "last_seen": span_json(*span) }),
            Selector::Registered(span) => json!({ "registered": span_json(*span) }),
            Selector::Within(circle) => json!({ "location": {
                "latitude": circle.centre.latitude(),
                "longitude": circle.centre.longitude(),
                "radius_m": circle.radius_m,
            } }),
            Selector::OptedIn(wanted) => json!({ "opted_in": wanted }),
            Selector::And(clauses) => json!({ "and": clauses.iter().map(Self::to_json).collect::<Vec<_>>() }),
            Selector::Or(clauses) => json!({ "or": clauses.iter().map(Self::to_json).collect::<Vec<_>>() }),
            Selector::Not(clause) => json!({ "not": clause.to_json() }),
        }
    }
}

fn clause(place: &Place<'_>, depth: usize, budget: &mut Budget) -> Result<Selector, Mistake> {
    budget.clause(depth).or_else(|reason| place.mistake(reason))?;
    if let Some(word) = place.json.as_str() {
        return match word {
            "all" => Ok(Selector::All),
            _ => place.mistake("it is a text, and the only one that is a selector is \"all\""),
        };
    }
    let Some(object) = place.json.as_object() else {
        return place.mistake("it must be \"all\" or an object like {\"tag\": \"vip\"}");
    };
    let mut kinds = object.keys().filter(|key| CLAUSES.contains(&key.as_str()));
    let Some(kind) = kinds.next() else {
        return match object.keys().next() {
            None => place.mistake("an empty object is no clause; \"all\" means all devices"),
            Some(key) if key == "group" => place.mistake("\"group\" needs a \"tag\" beside it"),
            Some(key) => place.unknown(key, CLAUSES),
        };
    };
    if let Some(other) = kinds.next() {
        return place.mistake(format!(
            "an object is one clause, and this has {kind:?} and {other:?}; put each into its own, in an \"and\""
        ));
    }
    let beside: &[&str] = match kind.as_str() {
        "tag" => &["tag", "group"],
        "attribute" => {
            let allowed = [&["attribute"], COMPARISONS].concat();
            place.only(&allowed)?;
            return attribute(place);
        }
        _ => &[kind.as_str()],
    };
    place.only(beside)?;
    let inner = &place.needs(kind)?;
    Ok(match kind.as_str() {
        "tag" => Selector::Tag(match place.key("group") {
            Some(group) => {
                let name: TagName = inner.parsed()?;
                Tag::new(group.text()?, name.as_str()).or_else(|error| group.mistake(error.to_string()))?
            }
            None => tag(inner)?,
        }),
        "named_user" => Selector::User(inner.parsed()?),
        "device" => {
            budget.devices(1).or_else(|reason| inner.mistake(reason))?;
            Selector::Device(inner.parsed()?)
        }
        "devices" => {
            let items = inner.items()?;
            budget
                .devices(inner.json.as_array().map_or(0, Vec::len))
                .or_else(|reason| inner.mistake(reason))?;
            Selector::Devices(items.map(|device| device.parsed::<DeviceId>()).collect::<Result<_, _>>()?)
        }
        "list" => Selector::List(inner.parsed()?),
        "platform" => Selector::Platform(inner.parsed()?),
        "app_version" => Selector::Version(version(inner)?),
        "language" => Selector::Language(inner.parsed()?),
        "country" => Selector::Country(inner.parsed()?),
        "time_zone" => Selector::TimeZone(inner.parsed()?),
        "last_seen" => Selector::LastSeen(span(inner)?),
        "registered" => Selector::Registered(span(inner)?),
        "location" => Selector::Within(circle(inner)?),
        "opted_in" => Selector::OptedIn(inner.boolean()?),
        "not" => Selector::Not(Box::new(clause(inner, depth + 1, budget)?)),
        and_or => {
            let clauses =
                inner.items()?.map(|item| clause(&item, depth + 1, budget)).collect::<Result<Vec<_>, _>>()?;
            if clauses.is_empty() {
                return inner.mistake("it needs at least one clause");
            }
            if and_or == "and" { Selector::And(clauses) } else { Selector::Or(clauses) }
        }
    })
}

/// Which edge of a range a key is: whether the lower one, and whether it belongs to the range.
fn edge(key: &str) -> (bool, bool) {
    match key {
        "greater_than" | "after" => (true, false),
        "at_least" => (true, true),
        "at_most" => (false, true),
        _ => (false, false),
    }
}

fn attribute(place: &Place<'_>) -> Result<Selector, Mistake> {
    let name = place.needs("attribute")?.parsed()?;
    let mut keys = place.object()?.keys().map(String::as_str).filter(|&key| key != "attribute");
    let Some(key) = keys.next() else {
        return place.mistake(format!("it lacks a comparison: one of {}", COMPARISONS.join(", ")));
    };
    let is = if EDGES.contains(&key) {
        range(place)?
    } else {
        if let Some(other) = keys.next() {
            return place.mistake(format!(
                "{key:?} and {other:?} don't go together; put each into a clause of its own, in an \"and\""
            ));
        }
        let inner = &place.needs(key)?;
        match key {
            "equals" => Comparison::Equals(value(inner)?),
            "not_equals" => Comparison::NotEquals(value(inner)?),
            "contains" => Comparison::Contains(match inner.text()? {
                "" => return inner.mistake("every text contains the empty one; use \"exists\""),
                text if text.len() > TEXT_BYTES_MAX => return inner.mistake(too_long(text)),
                text => text.into(),
            }),
            "within_s" => Comparison::WithinSeconds(inner.whole_number()?),
            _ => Comparison::Exists(inner.boolean()?),
        }
    };
    Ok(Selector::Attribute { name, is })
}

/// Bytes of a text in a comparison.
pub(crate) const TEXT_BYTES_MAX: usize = 4_096;

pub(crate) fn too_long(text: &str) -> String {
    format!("it has {} bytes; {TEXT_BYTES_MAX} are allowed", text.len())
}

fn range(place: &Place<'_>) -> Result<Comparison, Mistake> {
    let (mut from, mut to): (Option<Edge>, Option<Edge>) = (None, None);
    for key in place.object()?.keys().map(String::as_str).filter(|&key| key != "attribute") {
        let inner = &place.needs(key)?;
        if !EDGES.contains(&key) {
            return inner.mistake(
                "it does not go together with a range; put it into a clause of its own, in an \"and\"",
            );
        }
        let value = match key {
            "before" | "after" => Value::Date(date(inner)?),
            _ => {
                match value(inner)? {
                    Value::Text(text) if parse_date(&text).is_some() => {
                        return inner.mistake(format!("it is a text, and must be a number or a date; a date is written {{\"date\": {:?}}}", text.as_str()));
                    }
                    Value::Text(_) => return inner.mistake("it is a text, and must be a number or a date"),
                    value => value,
                }
            }
        };
        let (is_lower, included) = edge(key);
        let place_of = if is_lower { &mut from } else { &mut to };
        if place_of.is_some() {
            return inner.mistake("the range has this edge already");
        }
        *place_of = Some(Edge { value, included });
    }
    if let (Some(Edge { value: from, .. }), Some(Edge { value: to, .. })) = (&from, &to)
        && std::mem::discriminant(from) != std::mem::discriminant(to)
    {
        return place.mistake("one edge of the range is a number and the other one a date");
    }
    Ok(Comparison::Range { from, to })
}

/// A time, as a text or as `{"date": ..}`.
fn date(place: &Place<'_>) -> Result<i64, Mistake> {
    match place.key("date") {
        Some(_) => match value(place)? {
            Value::Date(at) => Ok(at),
            _ => place.mistake("it must be a date"),
        },
        None => place.date(),
    }
}

fn version(place: &Place<'_>) -> Result<VersionRange, Mistake> {
    const ALLOWED: &[&str] = &["equals", "greater_than", "at_least", "less_than", "at_most"];
    if place.json.is_string() {
        let version: crate::AppVersion = place.parsed()?;
        return Ok(VersionRange { from: Some((version.clone(), true)), to: Some((version, true)) });
    }
    place.only(ALLOWED)?;
    let mut range = VersionRange::default();
    for key in place.object()?.keys().map(String::as_str) {
        let inner = &place.needs(key)?;
        let version: crate::AppVersion = inner.parsed()?;
        let (lower, included) = if key == "equals" { (true, true) } else { edge(key) };
        let sides: &mut [_] = match (key, lower) {
            ("equals", _) => &mut [&mut range.from, &mut range.to],
            (_, true) => &mut [&mut range.from],
            _ => &mut [&mut range.to],
        };
        for side in sides {
            if side.replace((version.clone(), included)).is_some() {
                return inner.mistake("the range has this edge already");
            }
        }
    }
    if range == VersionRange::default() {
        return place.mistake(format!("it needs one of {}", ALLOWED.join(", ")));
    }
    Ok(range)
}

fn span(place: &Place<'_>) -> Result<Span, Mistake> {
    place.only(&["within_s", "before", "after"])?;
    let second = |place: Option<Place<'_>>| {
        let Some(place) = place else { return Ok(None) };
        let at = place.date()?;
        u64::try_from(at)
            .map(|at| Some(at / 1_000))
            .or_else(|_| place.mistake("no device was there before 1970"))
    };
    match (place.key("within_s"), second(place.key("after"))?, second(place.key("before"))?) {
        (Some(within), None, None) => Ok(Span::WithinSeconds(within.whole_number()?)),
        (Some(_), _, _) => place.mistake("\"within_s\" stands alone, without \"before\" and \"after\""),
        (None, None, None) => place.mistake("it needs \"within_s\", \"before\" or \"after\""),
        (None, from, to) => Ok(Span::Between { from, to }),
    }
}

fn circle(place: &Place<'_>) -> Result<Circle, Mistake> {
    place.only(&["latitude", "longitude", "radius_m"])?;
    let centre = location(place)?;
    let radius = place.needs("radius_m")?;
    let radius_m = radius.number()?;
    if !(1.0..=RADIUS_MAX_M).contains(&radius_m) {
        return radius.mistake(format!("a radius is 1 to {RADIUS_MAX_M} metres"));
    }
    Ok(Circle { centre, radius_m: radius_m.round() as u32 })
}

fn comparison_json(is: &Comparison) -> Map<String, Json> {
    let mut fields = Map::new();
    let mut put = |key: &str, json: Json| fields.insert(key.into(), json);
    match is {
        Comparison::Equals(value) => drop(put("equals", value_json(value))),
        Comparison::NotEquals(value) => drop(put("not_equals", value_json(value))),
        Comparison::Contains(text) => drop(put("contains", json!(text))),
        Comparison::WithinSeconds(seconds) => drop(put("within_s", json!(seconds))),
        Comparison::Exists(exists) => drop(put("exists", json!(exists))),
        Comparison::Range { from, to } => {
            if let Some(edge) = from {
                put(if edge.included { "at_least" } else { "greater_than" }, value_json(&edge.value));
            }
            if let Some(edge) = to {
                put(if edge.included { "at_most" } else { "less_than" }, value_json(&edge.value));
            }
        }
    }
    fields
}

fn version_json(range: &VersionRange) -> Json {
    if let (Some((from, true)), Some((to, true))) = (&range.from, &range.to)
        && from == to
    {
        return json!(from);
    }
    let mut fields = Map::new();
    if let Some((version, included)) = &range.from {
        fields.insert(if *included { "at_least" } else { "greater_than" }.into(), json!(version));
    }
    if let Some((version, included)) = &range.to {
        fields.insert(if *included { "at_most" } else { "less_than" }.into(), json!(version));
    }
    Json::Object(fields)
}

fn span_json(span: Span) -> Json {
    let timestamp = |second: u64| date_text(i64::try_from(second).unwrap_or(i64::MAX).saturating_mul(1_000));
    let mut fields = Map::new();
    match span {
        Span::WithinSeconds(seconds) => drop(fields.insert("within_s".into(), json!(seconds))),
        Span::Between { from, to } => {
            from.map(|from| fields.insert("after".into(), json!(timestamp(from))));
            to.map(|to| fields.insert("before".into(), json!(timestamp(to))));
        }
    }
    Json::Object(fields)
}
