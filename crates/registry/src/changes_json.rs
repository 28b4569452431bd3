//! Changes and devices as JSON: one shape for both, so that exported devices can be imported.
//!
//! A key that is left out leaves what is there, `null` clears it. A mistake is reported with its
//! path.

use serde_json::{Map, Value as Json, json};

use crate::json::{Mistake, Place};
use crate::value::date_text;
use crate::{Changes, Device, Location, QuietHours, Tag, Value};

const FIELDS: &[&str] = &[
    "platform",
    "app_version",
    "language",
    "country",
    "time_zone",
    "named_user",
    "opt_in",
    "quiet_hours",
    "location",
    "tags",
    "attributes",
    "revoked",
];

impl Changes {
    /// The changes that a JSON value is.
    ///
    /// # Errors
    ///
    /// Where the mistake is and what is allowed there.
    pub fn parse(json: &Json) -> Result<Self, Mistake> {
        let place = &Place::whole(json);
        place.only(FIELDS)?;
        Self::read(place)
    }

    /// The changes that a device may ask for itself: `tags` to add and to remove, `attributes`, and
    /// `opted_in`.
    ///
    /// # Errors
    ///
    /// Where the mistake is and what is allowed there.
    pub fn parse_own(json: &Json) -> Result<Self, Mistake> {
        let place = &Place::whole(json);
        place.only(&["tags", "attributes", "opted_in"])?;
        if let Some(tags) = place.key("tags") {
            tags.only(&["add", "remove"])?;
        }
        let opt_in = place.key("opted_in").map(|place| place.boolean()).transpose()?;
        Ok(Changes { opt_in, ..Self::read(place)? })
    }

    /// The changes that stand among other fields of a JSON object: those that `beside` names are somebody else's.
    ///
    /// # Errors
    ///
    /// Where the mistake is and what is allowed there.
    pub fn parse_beside(json: &Json, beside: &[&str]) -> Result<Self, Mistake> {
        let place = &Place::whole(json);
        place.only(&[beside, FIELDS].concat())?;
        Self::read(place)
    }

    fn read(place: &Place<'_>) -> Result<Self, Mistake> {
        let mut changes = Changes {
            platform: cleared(place.key("platform"), |place| place.parsed())?,
            app_version: cleared(place.key("app_version"), |place| place.parsed())?,
            language: cleared(place.key("language"), |place| place.parsed())?,
            country: cleared(place.key("country"), |place| place.parsed())?,
            time_zone: cleared(place.key("time_zone"), |place| place.parsed())?,
            user: cleared(place.key("named_user"), |place| place.parsed())?,
            opt_in: place.key("opt_in").map(|place| place.boolean()).transpose()?,
            quiet_hours: cleared(place.key("quiet_hours"), quiet_hours)?,
            location: cleared(place.key("location"), |place| {
                place.only(&["latitude", "longitude"])?;
                location(place)
            })?,
            revoked: place.key("revoked").map(|place| place.boolean()).transpose()?,
            ..Changes::default()
        };
        if let Some(place) = place.key("tags") {
            read_tags(&place, &mut changes)?;
        }
        if let Some(place) = &place.key("attributes") {
            for key in place.object()?.keys() {
                let inner = place.needs(key)?;
                let name =
                    key.parse().or_else(|error: crate::InvalidName| inner.mistake(error.to_string()))?;
                let value = if inner.is_null() { None } else { Some(value(&inner)?) };
                changes.attributes.push((name, value));
            }
        }
        Ok(changes)
    }

    /// They as JSON, as [`Self::parse`] reads it; without the credential.
    pub fn to_json(&self) -> Json {
        let mut fields = Map::new();
        put_changed(&mut fields, "platform", &self.platform, |text| json!(text));
        put_changed(&mut fields, "app_version", &self.app_version, |text| json!(text));
        put_changed(&mut fields, "language", &self.language, |text| json!(text));
        put_changed(&mut fields, "country", &self.country, |text| json!(text));
        put_changed(&mut fields, "time_zone", &self.time_zone, |text| json!(text));
        put_changed(&mut fields, "named_user", &self.user, |text| json!(text));
        put_changed(&mut fields, "quiet_hours", &self.quiet_hours, |hours| quiet_json(*hours));
        put_changed(&mut fields, "location", &self.location, |location| location_json(*location));
        self.opt_in.map(|opt_in| fields.insert("opt_in".into(), json!(opt_in)));
        self.revoked.map(|revoked| fields.insert("revoked".into(), json!(revoked)));
        let mut tags = Map::new();
        if let Some(set) = &self.tags_set {
            tags.insert("set".into(), json!(set));
        }
        for (key, list) in [("remove", &self.tags_removed), ("add", &self.tags_added)] {
            if !list.is_empty() {
                tags.insert(key.into(), json!(list));
            }
        }
        if !tags.is_empty() {
            fields.insert("tags".into(), Json::Object(tags));
        }
        if !self.attributes.is_empty() {
            let attribute = |value: &Option<Value>| value.as_ref().map_or(Json::Null, value_json);
            let attributes = self.attributes.iter().map(|(name, value)| (name.to_string(), attribute(value)));
            fields.insert("attributes".into(), Json::Object(attributes.collect()));
        }
        Json::Object(fields)
    }
}

fn cleared<T>(
    place: Option<Place<'_>>,
    read: impl Fn(&Place<'_>) -> Result<T, Mistake>,
) -> Result<Option<Option<T>>, Mistake> {
    let Some(place) = place else { return Ok(None) };
    if place.is_null() { Ok(Some(None)) } else { read(&place).map(|value| Some(Some(value))) }
}

fn put_changed<T>(
    fields: &mut Map<String, Json>,
    key: &str,
    change: &Option<Option<T>>,
    json: impl Fn(&T) -> Json,
) {
    if let Some(change) = change {
        fields.insert(key.into(), change.as_ref().map_or(Json::Null, json));
    }
}

fn read_tags(place: &Place<'_>, changes: &mut Changes) -> Result<(), Mistake> {
    let list = |place: &Place<'_>| place.items()?.map(|item| tag(&item)).collect::<Result<Vec<_>, _>>();
    if place.json.is_array() {
        changes.tags_set = Some(list(place)?);
        return Ok(());
    }
    if !place.json.is_object() {
        return place.mistake("it must be a list of tags, or an object with \"set\", \"remove\" and \"add\"");
    }
    place.only(&["set", "remove", "add"])?;
    changes.tags_set = place.key("set").map(|place| list(&place)).transpose()?;
    changes.tags_removed = place.key("remove").map_or(Ok(Vec::new()), |place| list(&place))?;
    changes.tags_added = place.key("add").map_or(Ok(Vec::new()), |place| list(&place))?;
    Ok(())
}

/// A tag: `"vip"`, `"loyalty:gold"` or `{"group": "loyalty", "tag": "gold"}`.
pub(crate) fn tag(place: &Place<'_>) -> Result<Tag, Mistake> {
    if !place.json.is_object() {
        return place.parsed();
    }
    place.only(&["tag", "group"])?;
    let name = place.needs("tag")?;
    let group = place.key("group").map_or(Ok(""), |group| group.text())?;
    Tag::new(group, name.text()?).or_else(|error| place.mistake(error.to_string()))
}

/// An attribute's value: a text, a number, or `{"date": ..}`.
pub(crate) fn value(place: &Place<'_>) -> Result<Value, Mistake> {
    match place.json {
        Json::String(text) if text.len() > crate::selector_json::TEXT_BYTES_MAX => {
            place.mistake(crate::selector_json::too_long(text))
        }
        Json::String(text) => Ok(Value::Text(text.into())),
        Json::Number(number) if !is_exact(number) => {
            place.mistake("whole numbers are exact up to 9007199254740992; send a longer one as a text")
        }
        Json::Number(_) => match Value::number(place.number()?) {
            Some(number) => Ok(number),
            None => place.mistake("it is too large a number"),
        },
        Json::Object(_) => {
            place.only(&["date"])?;
            place.needs("date")?.date().map(Value::Date)
        }
        _ => place.mistake("a value is a text, a number, or a date as {\"date\": \"2026-01-31T18:00:00Z\"}"),
    }
}

/// Whether a number is kept as it was written: not a whole one with more digits than fit.
fn is_exact(number: &serde_json::Number) -> bool {
    const MAX: u64 = 1 << 53;
    number.as_u64().is_none_or(|number| number <= MAX)
        && number.as_i64().is_none_or(|number| number.unsigned_abs() <= MAX)
}

pub(crate) fn value_json(value: &Value) -> Json {
    match value {
        Value::Text(text) => json!(text.as_str()),
        // Whole numbers are written as such, as their sender did.
        Value::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => json!(*number as i64),
        Value::Number(number) => json!(number),
        Value::Date(at) => json!({ "date": date_text(*at) }),
    }
}

/// Where `latitude` and `longitude` point.
pub(crate) fn location(place: &Place<'_>) -> Result<Location, Mistake> {
    let (latitude, longitude) = (place.needs("latitude")?, place.needs("longitude")?);
    let degrees = (latitude.number()?, longitude.number()?);
    if degrees.0.abs() > 90.0 {
        return latitude.mistake("a latitude is -90 to 90 degrees");
    }
    match Location::new(degrees.0, degrees.1) {
        Some(location) => Ok(location),
        None => longitude.mistake("a longitude is -180 to 180 degrees"),
    }
}

fn location_json(location: Location) -> Json {
    json!({ "latitude": location.latitude(), "longitude": location.longitude() })
}

fn quiet_hours(place: &Place<'_>) -> Result<QuietHours, Mistake> {
    place.only(&["from", "to"])?;
    let minute = |place: Place<'_>| match QuietHours::parse_minute(place.text()?) {
        Some(minute) => Ok(minute),
        None => place.mistake("it is no time of day, as 22:30 is"),
    };
    let (from, to) = (minute(place.needs("from")?)?, minute(place.needs("to")?)?);
    match QuietHours::new(from, to) {
        Some(hours) => Ok(hours),
        None => place.mistake("quiet hours end at another time than they begin; opt_in false is for always"),
    }
}

fn quiet_json(hours: QuietHours) -> Json {
    json!({ "from": QuietHours::minute_text(hours.from()), "to": QuietHours::minute_text(hours.to()) })
}

impl Device {
    /// It as JSON: the fields of changes, `device`, `located_at`, `registered_at`, `last_seen`, and whether it has a credential.
    pub fn to_json(&self) -> Json {
        let timestamp = |at: crate::Time| date_text(i64::try_from(at.0).unwrap_or(i64::MAX));
        let attributes = self.attributes.iter().map(|(name, value)| (name.to_string(), value_json(value)));
        let (lists, tags): (Vec<&Tag>, Vec<&Tag>) = self.tags.iter().partition(|tag| tag.is_list());
        let lists: Vec<&str> = lists.iter().map(|tag| tag.name.as_str()).collect();
        json!({
            "device": self.id,
            "platform": self.platform,
            "app_version": self.app_version,
            "language": self.language,
            "country": self.country,
            "time_zone": self.time_zone,
            "named_user": self.user,
            "opt_in": self.opt_in,
            "quiet_hours": self.quiet_hours.map(quiet_json),
            "location": self.location.map(location_json),
            "located_at": self.located_at.map(timestamp),
            "tags": tags,
            "lists": lists,
            "attributes": attributes.collect::<Map<_, _>>(),
            "has_credential": self.credential.is_some(),
            "revoked": self.revoked,
            "registered_at": timestamp(self.registered_at),
            "last_seen": self.last_seen.map(timestamp),
        })
    }
}

impl serde::Serialize for Device {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.to_json().serialize(to)
    }
}

/// Types that are read from JSON with the path of the mistake.
macro_rules! through_json {
    ($($name:ident)*) => {$(
        impl serde::Serialize for crate::$name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                self.to_json().serialize(to)
            }
        }

        impl<'de> serde::Deserialize<'de> for crate::$name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                crate::$name::parse(&Json::deserialize(from)?).map_err(serde::de::Error::custom)
            }
        }
    )*};
}

through_json!(Changes Selector);
