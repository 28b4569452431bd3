//! Changes and selectors as the bytes of journal events.
//!
//! Texts, never a registry's own numbers. Everything is checked when it is read, so that decoded
//! changes can be applied.

use stadium_state_machine::encoding::{Reader, corrupt, number, text};

use crate::selector_json::Budget;
use crate::{
    AttributeName, Changes, Circle, Comparison, Corrupt, DeviceId, Edge, Location, QuietHours, Selector,
    Span, Tag, Value, VersionRange, ZoneName,
};

fn named<T: std::str::FromStr>(input: &mut Reader<'_>) -> Result<T, Corrupt>
where
    T::Err: std::fmt::Display,
{
    input.text()?.parse().map_err(|error: T::Err| corrupt(error.to_string()))
}

fn zone(input: &mut Reader<'_>) -> Result<ZoneName, Corrupt> {
    ZoneName::recorded(input.text()?).map_err(|error| corrupt(error.to_string()))
}

fn write_tag(out: &mut Vec<u8>, tag: &Tag) {
    text(out, tag.group());
    text(out, tag.name.as_str());
}

fn read_tag(input: &mut Reader<'_>) -> Result<Tag, Corrupt> {
    Tag::new(input.text()?, input.text()?).map_err(|error| corrupt(error.to_string()))
}

fn write_location(out: &mut Vec<u8>, location: Location) {
    out.extend_from_slice(&location.latitude.to_le_bytes());
    out.extend_from_slice(&location.longitude.to_le_bytes());
}

fn read_location(input: &mut Reader<'_>) -> Result<Location, Corrupt> {
    let location = Location {
        latitude: i32::from_le_bytes(input.array()?),
        longitude: i32::from_le_bytes(input.array()?),
    };
    if location.is_on_earth() { Ok(location) } else { Err(corrupt("a location that is not on Earth")) }
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Text(value) => {
            out.push(0);
            text(out, value);
        }
        Value::Number(value) => {
            out.push(1);
            out.extend_from_slice(&value.to_le_bytes());
        }
        Value::Date(at) => {
            out.push(2);
            out.extend_from_slice(&at.to_le_bytes());
        }
    }
}

fn read_value(input: &mut Reader<'_>) -> Result<Value, Corrupt> {
    match input.byte()? {
        0 => Ok(Value::Text(input.text()?.into())),
        1 => Value::number(f64::from_le_bytes(input.array()?))
            .ok_or_else(|| corrupt("a number that is not finite")),
        2 => match i64::from_le_bytes(input.array()?) {
            i64::MIN => Err(corrupt("a date that is none")),
            at => Ok(Value::Date(at)),
        },
        _ => Err(corrupt("a value of an unknown type")),
    }
}

fn flag(input: &mut Reader<'_>) -> Result<bool, Corrupt> {
    match input.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(corrupt("a flag that is neither")),
    }
}

fn read_list<T>(
    input: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<T, Corrupt>,
) -> Result<Vec<T>, Corrupt> {
    // No room is made for what the bytes only claim.
    let mut list = Vec::new();
    for _ in 0..input.number()? {
        list.push(read(input)?);
    }
    Ok(list)
}

fn write_list<T>(out: &mut Vec<u8>, list: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
    number(out, list.len() as u64);
    list.iter().for_each(|item| write(out, item));
}

const OPT_IN: u64 = 1 << 8;
const OPT_OUT: u64 = 1 << 9;
const REVOKED: u64 = 1 << 10;
const LET_IN: u64 = 1 << 11;
const TAGS_SET: u64 = 1 << 12;
const TAGS_REMOVED: u64 = 1 << 13;
const TAGS_ADDED: u64 = 1 << 14;
const ATTRIBUTES: u64 = 1 << 15;
const CREDENTIAL: u64 = 1 << 16;
/// From here on: fields that are cleared, in the order of the first bits.
const CLEARED_SHIFT: u32 = 17;
const ALL: u64 = (1 << 26) - 1;

impl Changes {
    /// Appends them to an event.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut mask = 0;
        let changed = [
            self.platform.as_ref().map(Option::is_some),
            self.app_version.as_ref().map(Option::is_some),
            self.language.as_ref().map(Option::is_some),
            self.country.as_ref().map(Option::is_some),
            self.time_zone.as_ref().map(Option::is_some),
            self.user.as_ref().map(Option::is_some),
            self.quiet_hours.as_ref().map(Option::is_some),
            self.location.as_ref().map(Option::is_some),
        ];
        for (at, change) in changed.into_iter().enumerate() {
            mask |= match change {
                None => 0,
                Some(true) => 1 << at,
                Some(false) => 1 << at << CLEARED_SHIFT,
            };
        }
        mask |= match self.credential {
            None => 0,
            Some(Some(_)) => CREDENTIAL,
            Some(None) => 1 << 8 << CLEARED_SHIFT,
        };
        mask |= self.opt_in.map_or(0, |opt_in| if opt_in { OPT_IN } else { OPT_OUT });
        mask |= self.revoked.map_or(0, |revoked| if revoked { REVOKED } else { LET_IN });
        mask |= if self.tags_set.is_some() { TAGS_SET } else { 0 };
        mask |= if self.tags_removed.is_empty() { 0 } else { TAGS_REMOVED };
        mask |= if self.tags_added.is_empty() { 0 } else { TAGS_ADDED };
        mask |= if self.attributes.is_empty() { 0 } else { ATTRIBUTES };
        number(out, mask);
        let mut put = |value: Option<&str>| value.into_iter().for_each(|value| text(out, value));
        put(self.platform.iter().flatten().next().map(AsRef::as_ref));
        put(self.app_version.iter().flatten().next().map(AsRef::as_ref));
        put(self.language.iter().flatten().next().map(AsRef::as_ref));
        put(self.country.iter().flatten().next().map(AsRef::as_ref));
        put(self.time_zone.iter().flatten().next().map(AsRef::as_ref));
        put(self.user.iter().flatten().next().map(AsRef::as_ref));
        if let Some(Some(hours)) = self.quiet_hours {
            number(out, u64::from(hours.from()));
            number(out, u64::from(hours.to()));
        }
        if let Some(Some(location)) = self.location {
            write_location(out, location);
        }
        if let Some(set) = &self.tags_set {
            write_list(out, set, write_tag);
        }
        for list in [&self.tags_removed, &self.tags_added] {
            if !list.is_empty() {
                write_list(out, list, write_tag);
            }
        }
        if !self.attributes.is_empty() {
            write_list(out, &self.attributes, |out, (name, value)| {
                text(out, name.as_str());
                match value {
                    Some(value) => write_value(out, value),
                    None => out.push(NO_VALUE),
                }
            });
        }
        if let Some(Some(credential)) = &self.credential {
            out.extend_from_slice(credential);
        }
    }

    /// Reads them from an event.
    ///
    /// # Errors
    ///
    /// Bytes that [`Self::encode`] did not write.
    pub fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        let mask = input.number()?;
        let (given, cleared) = (mask & 0xff | mask >> 8 & 1 << 8, mask >> CLEARED_SHIFT);
        let both = |one: u64, other: u64| mask & one != 0 && mask & other != 0;
        if mask & !ALL != 0 || given & cleared != 0 || both(OPT_IN, OPT_OUT) || both(REVOKED, LET_IN) {
            return Err(corrupt("changes that contradict each other"));
        }
        fn field<'a, T>(
            input: &mut Reader<'a>,
            (given, cleared): (u64, u64),
            at: u32,
            read: impl FnOnce(&mut Reader<'a>) -> Result<T, Corrupt>,
        ) -> Result<Option<Option<T>>, Corrupt> {
            if cleared & 1 << at != 0 {
                return Ok(Some(None));
            }
            if given & 1 << at != 0 { read(input).map(|value| Some(Some(value))) } else { Ok(None) }
        }
        let which = (given, cleared);
        Ok(Changes {
            platform: field(input, which, 0, named)?,
            app_version: field(input, which, 1, named)?,
            language: field(input, which, 2, named)?,
            country: field(input, which, 3, named)?,
            time_zone: field(input, which, 4, zone)?,
            user: field(input, which, 5, named)?,
            quiet_hours: field(input, which, 6, |input| {
                QuietHours::new(input.small()?, input.small()?)
                    .ok_or_else(|| corrupt("quiet hours that are none"))
            })?,
            location: field(input, which, 7, read_location)?,
            opt_in: (mask & (OPT_IN | OPT_OUT) != 0).then_some(mask & OPT_IN != 0),
            revoked: (mask & (REVOKED | LET_IN) != 0).then_some(mask & REVOKED != 0),
            tags_set: if mask & TAGS_SET != 0 { Some(read_list(input, read_tag)?) } else { None },
            tags_removed: if mask & TAGS_REMOVED != 0 { read_list(input, read_tag)? } else { Vec::new() },
            tags_added: if mask & TAGS_ADDED != 0 { read_list(input, read_tag)? } else { Vec::new() },
            attributes: if mask & ATTRIBUTES != 0 { read_list(input, read_attribute)? } else { Vec::new() },
            credential: field(input, which, 8, |input| input.array())?,
        })
    }
}

/// Where an attribute's value would stand.
const NO_VALUE: u8 = 3;

fn read_attribute(input: &mut Reader<'_>) -> Result<(AttributeName, Option<Value>), Corrupt> {
    let name = named(input)?;
    let mut ahead = *input;
    if ahead.byte()? == NO_VALUE {
        *input = ahead;
        return Ok((name, None));
    }
    read_value(input).map(|value| (name, Some(value)))
}

impl Selector {
    /// Appends it to an event.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let named = |out: &mut Vec<u8>, kind: u8, name: &str| {
            out.push(kind);
            text(out, name);
        };
        match self {
            Selector::All => out.push(0),
            Selector::Tag(tag) => {
                out.push(1);
                write_tag(out, tag);
            }
            Selector::User(user) => named(out, 2, user.as_str()),
            Selector::Device(device) => named(out, 3, device.as_str()),
            Selector::Devices(devices) => {
                out.push(4);
                write_list(out, devices, |out, device| text(out, device.as_str()));
            }
            Selector::List(list) => named(out, 5, list.as_str()),
            Selector::Attribute { name, is } => {
                named(out, 6, name.as_str());
                write_comparison(out, is);
            }
            Selector::Platform(platform) => named(out, 7, platform.as_str()),
            Selector::Version(range) => {
                out.push(8);
                for side in [&range.from, &range.to] {
                    match side {
                        None => out.push(0),
                        Some((version, included)) => named(out, 1 + u8::from(*included), version.as_str()),
                    }
                }
            }
            Selector::Language(language) => named(out, 9, language.as_str()),
            Selector::Country(country) => named(out, 10, country.as_str()),
            Selector::TimeZone(zone) => named(out, 11, zone.as_str()),
            Selector::LastSeen(span) => {
                out.push(12);
                write_span(out, *span);
            }
            Selector::Registered(span) => {
                out.push(13);
                write_span(out, *span);
            }
            Selector::Within(circle) => {
                out.push(14);
                write_location(out, circle.centre);
                number(out, u64::from(circle.radius_m));
            }
            Selector::OptedIn(wanted) => out.extend([15, u8::from(*wanted)]),
            Selector::And(clauses) => {
                out.push(16);
                write_list(out, clauses, |out, clause| clause.encode(out));
            }
            Selector::Or(clauses) => {
                out.push(17);
                write_list(out, clauses, |out, clause| clause.encode(out));
            }
            Selector::Not(clause) => {
                out.push(18);
                clause.encode(out);
            }
        }
    }

    /// Reads it from an event.
    ///
    /// # Errors
    ///
    /// Bytes that [`Self::encode`] did not write.
    pub fn decode(input: &mut Reader<'_>) -> Result<Self, Corrupt> {
        Self::read(input, 0, &mut Budget::new())
    }

    fn read(input: &mut Reader<'_>, depth: usize, budget: &mut Budget) -> Result<Self, Corrupt> {
        budget.clause(depth).map_err(corrupt)?;
        Ok(match input.byte()? {
            0 => Selector::All,
            1 => Selector::Tag(read_tag(input)?),
            2 => Selector::User(named(input)?),
            3 => {
                budget.devices(1).map_err(corrupt)?;
                Selector::Device(named(input)?)
            }
            4 => Selector::Devices(read_list(input, |input| {
                budget.devices(1).map_err(corrupt)?;
                named::<DeviceId>(input)
            })?),
            5 => Selector::List(named(input)?),
            6 => Selector::Attribute { name: named(input)?, is: read_comparison(input)? },
            7 => Selector::Platform(named(input)?),
            8 => {
                let side = |input: &mut Reader<'_>| match input.byte()? {
                    0 => Ok(None),
                    included @ (1 | 2) => Ok(Some((named(input)?, included == 2))),
                    _ => Err(corrupt("an edge that is none")),
                };
                Selector::Version(VersionRange { from: side(input)?, to: side(input)? })
            }
            9 => Selector::Language(named(input)?),
            10 => Selector::Country(named(input)?),
            11 => Selector::TimeZone(zone(input)?),
            12 => Selector::LastSeen(read_span(input)?),
            13 => Selector::Registered(read_span(input)?),
            14 => Selector::Within(Circle { centre: read_location(input)?, radius_m: input.small()? }),
            15 => Selector::OptedIn(flag(input)?),
            kind @ (16 | 17) => {
                let clauses = read_list(input, |input| Self::read(input, depth + 1, budget))?;
                if kind == 16 { Selector::And(clauses) } else { Selector::Or(clauses) }
            }
            18 => Selector::Not(Box::new(Self::read(input, depth + 1, budget)?)),
            _ => return Err(corrupt("a clause of an unknown kind")),
        })
    }
}

fn write_comparison(out: &mut Vec<u8>, is: &Comparison) {
    match is {
        Comparison::Equals(value) => {
            out.push(0);
            write_value(out, value);
        }
        Comparison::NotEquals(value) => {
            out.push(1);
            write_value(out, value);
        }
        Comparison::Range { from, to } => {
            out.push(2);
            for side in [from, to] {
                match side {
                    None => out.push(0),
                    Some(edge) => {
                        out.push(1 + u8::from(edge.included));
                        write_value(out, &edge.value);
                    }
                }
            }
        }
        Comparison::Contains(wanted) => {
            out.push(3);
            text(out, wanted);
        }
        Comparison::WithinSeconds(seconds) => {
            out.push(4);
            number(out, *seconds);
        }
        Comparison::Exists(exists) => out.extend([5, u8::from(*exists)]),
    }
}

fn read_comparison(input: &mut Reader<'_>) -> Result<Comparison, Corrupt> {
    let edge = |input: &mut Reader<'_>| match input.byte()? {
        0 => Ok(None),
        included @ (1 | 2) => Ok(Some(Edge { included: included == 2, value: read_value(input)? })),
        _ => Err(corrupt("an edge that is none")),
    };
    Ok(match input.byte()? {
        0 => Comparison::Equals(read_value(input)?),
        1 => Comparison::NotEquals(read_value(input)?),
        2 => Comparison::Range { from: edge(input)?, to: edge(input)? },
        3 => Comparison::Contains(input.text()?.to_owned()),
        4 => Comparison::WithinSeconds(input.number()?),
        5 => Comparison::Exists(flag(input)?),
        _ => return Err(corrupt("a comparison of an unknown kind")),
    })
}

fn write_span(out: &mut Vec<u8>, span: Span) {
    match span {
        Span::WithinSeconds(seconds) => {
            out.push(0);
            number(out, seconds);
        }
        Span::Between { from, to } => {
            out.push(1 + u8::from(from.is_some()) + 2 * u8::from(to.is_some()));
            [from, to].into_iter().flatten().for_each(|second| number(out, second));
        }
    }
}

fn read_span(input: &mut Reader<'_>) -> Result<Span, Corrupt> {
    let kind = input.byte()?;
    if kind == 0 {
        return Ok(Span::WithinSeconds(input.number()?));
    }
    let sides = kind - 1;
    if sides > 3 {
        return Err(corrupt("a span of an unknown kind"));
    }
    let mut side = |bit: u8| if sides & bit == 0 { Ok(None) } else { input.number().map(Some) };
    Ok(Span::Between { from: side(1)?, to: side(2)? })
}
