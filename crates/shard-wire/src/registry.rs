//! The types of devices and audiences.

use stadium_registry::{
    AppName, AppVersion, AttributeName, Changes, Circle, ClauseCount, Comparison, Country, Device, DeviceId,
    Edge, Language, ListName, Location, Platform, QuietHours, Selector, Span, Tag, TagGroup, TagName,
    UserName, Value, VersionRange, ZoneName,
};

use crate::Error;
#[cfg(test)]
use crate::tests::Random;

text! {
    AppName = AppName::new, ["default", "shop.de"];
    DeviceId = DeviceId::new, ["d1", "phone 7"];
    TagGroup = TagGroup::new, ["loyalty", "list"];
    TagName = TagName::new, ["vip", "a:b"];
    ListName = ListName::new, ["fans", "L-2"];
    AttributeName = AttributeName::new, ["age", "last.seen"];
    UserName = UserName::new, ["anna", "u 42"];
    Platform = Platform::new, ["ios", "android"];
    AppVersion = AppVersion::new, ["1.2.3", "v3+build7"];
    Language = Language::new, ["de", "de-AT", "zh-Hant-TW"];
    Country = Country::new, ["DE", "AT"];
    ZoneName = ZoneName::recorded, ["Europe/Berlin", "UTC", "Mars/Olympus"];
}

message! {
    Tag = "Tag" { 1 group, 2 name }
    Changes = "DeviceChanges" {
        1 platform, 2 app_version, 3 language, 4 country, 5 time_zone, 6 user, 7 opt_in, 8 quiet_hours,
        9 location, 10 tags_set, 11 tags_removed, 12 tags_added, 13 attributes, 14 credential, 15 revoked,
    }
    Device = "Device" {
        1 id, 2 platform, 3 app_version, 4 language, 5 country, 6 time_zone, 7 user, 8 opt_in,
        9 quiet_hours, 10 location, 11 located_at, 12 tags, 13 attributes, 14 credential, 15 revoked,
        16 registered_at, 17 last_seen,
    }
    Edge = "Edge" { 1 value, 2 included }
    VersionRange = "VersionRange" { 1 from, 2 to }
    Circle = "Circle" { 1 centre, 2 radius_m }
    ClauseCount = "ClauseCount" { 1 path, 2 clause, 3 matches, 4 keeps_out }
}

oneof! {
    Selector = "Selector" {
        1 All,
        2 Tag[tag],
        3 User[user],
        4 Device[device],
        5 Devices(1 devices),
        6 List[list],
        7 Attribute { 1 name, 2 is },
        8 Platform[platform],
        9 Version[range],
        10 Language[language],
        11 Country[country],
        12 TimeZone[zone],
        13 LastSeen[span],
        14 Registered[span],
        15 Within[circle],
        16 OptedIn[opted_in],
        17 And(1 clauses),
        18 Or(1 clauses),
        19 Not[clause],
    }
    Comparison = "Comparison" {
        1 Equals[value],
        2 NotEquals[value],
        3 Range { 1 from, 2 to },
        4 Contains[text],
        5 WithinSeconds[seconds],
        6 Exists[exists],
    }
    Span = "Span" { 1 WithinSeconds[seconds], 2 Between { 1 from, 2 to } }
    Value = "AttributeValue" where finite { 1 Text[text], 2 Number[number], 3 Date[milliseconds] }
}

/// A number is finite and never the negative zero, as [`Value::number`] makes it.
fn finite(value: &Value) -> Result<(), Error> {
    match value {
        Value::Number(number) if !number.is_finite() || *number == 0.0 && number.is_sign_negative() => {
            Err(Error::malformed(format!("{number} is no number of an attribute")))
        }
        _ => Ok(()),
    }
}

/// A location in ten-millionths of a degree.
struct Degrees {
    latitude: i32,
    longitude: i32,
}

/// Quiet hours by minutes of the day.
struct Minutes {
    from: u16,
    to: u16,
}

message! {
    Degrees = "Location" { 1 latitude, 2 longitude }
    Minutes = "QuietMinutes" { 1 from, 2 to }
}

through! {
    Location => Degrees,
    |location: &Location| {
        let (latitude, longitude) = location.ten_millionths();
        Degrees { latitude, longitude }
    },
    |Degrees { latitude, longitude }| {
        Location::of_ten_millionths(latitude, longitude).ok_or("it is not on Earth")
    },
    |random: &mut Random| {
        let (latitude, longitude) = (random.number() as i32 % 900_000_000, random.number() as i32);
        Location::of_ten_millionths(latitude, longitude % 1_800_000_000).expect("it is on Earth")
    };
    QuietHours => Minutes,
    |hours: &QuietHours| Minutes { from: hours.from(), to: hours.to() },
    |Minutes { from, to }| QuietHours::new(from, to).ok_or("they are no quiet hours"),
    |random: &mut Random| QuietHours::new(u16::from(random.byte()), 1_439).expect("they are two minutes");
}
