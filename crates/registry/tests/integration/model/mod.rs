//! Devices and audiences as simple as can be: a map, and a look at each device.
//!
//! The registry's answers are compared with it. It shares nothing with the registry but how two
//! versions compare.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use proptest::prelude::*;
use stadium_registry::{
    AppVersion, AttributeName, Changes, Circle, Comparison, Country, Device, DeviceId, Edge, Language,
    ListName, Location, Platform, QuietHours, Selector, Span, Tag, Time, UserName, Value, VersionRange,
    ZoneName, compare_versions,
};

pub type Devices = BTreeMap<DeviceId, Device>;

pub fn apply(devices: &mut Devices, at: Time, id: &DeviceId, changes: &Changes) {
    let seconds = Time(at.0 / 1_000 * 1_000);
    let device = devices.entry(id.clone()).or_insert_with(|| Device {
        id: id.clone(),
        platform: None,
        app_version: None,
        language: None,
        country: None,
        time_zone: None,
        user: None,
        opt_in: true,
        quiet_hours: None,
        location: None,
        located_at: None,
        tags: Vec::new(),
        attributes: Vec::new(),
        credential: None,
        revoked: false,
        registered_at: seconds,
        last_seen: None,
    });
    fn put<T: Clone>(field: &mut Option<T>, change: &Option<Option<T>>) {
        if let Some(change) = change {
            *field = change.clone();
        }
    }
    put(&mut device.platform, &changes.platform);
    put(&mut device.app_version, &changes.app_version);
    put(&mut device.language, &changes.language);
    put(&mut device.country, &changes.country);
    put(&mut device.time_zone, &changes.time_zone);
    put(&mut device.user, &changes.user);
    put(&mut device.quiet_hours, &changes.quiet_hours);
    put(&mut device.location, &changes.location);
    put(&mut device.located_at, &changes.location.map(|location| location.map(|_| at)));
    put(&mut device.credential, &changes.credential);
    device.opt_in = changes.opt_in.unwrap_or(device.opt_in);
    device.revoked = changes.revoked.unwrap_or(device.revoked);
    if let Some(set) = &changes.tags_set {
        device.tags.retain(Tag::is_list);
        device.tags.extend(set.iter().cloned());
    }
    device.tags.retain(|tag| !changes.tags_removed.contains(tag));
    device.tags.extend(changes.tags_added.iter().cloned());
    device.tags.sort();
    device.tags.dedup();
    for (name, value) in &changes.attributes {
        device.attributes.retain(|(other, _)| other != name);
        device.attributes.extend(value.clone().map(|value| (name.clone(), value)));
    }
    device.attributes.sort_by(|(one, _), (other, _)| one.cmp(other));
}

pub fn seen(devices: &mut Devices, id: &DeviceId, at: Time) {
    if let Some(device) = devices.get_mut(id) {
        device.last_seen = Some(Time(at.0 / 1_000 * 1_000));
    }
}

pub fn is_meant(device: &Device, selector: &Selector, now: Time) -> bool {
    let has = |group: &str, name: &str| {
        device.tags.iter().any(|tag| tag.group() == group && tag.name.as_str() == name)
    };
    match selector {
        Selector::All => true,
        Selector::Tag(tag) => device.tags.contains(tag),
        Selector::User(user) => device.user.as_ref() == Some(user),
        Selector::Device(id) => device.id == *id,
        Selector::Devices(ids) => ids.contains(&device.id),
        Selector::List(list) => has("list", list.as_str()),
        Selector::Attribute { name, is } => {
            let value = device.attributes.iter().find(|(other, _)| other == name).map(|(_, value)| value);
            is_so(value, is, now)
        }
        Selector::Platform(platform) => device.platform.as_ref() == Some(platform),
        Selector::Version(range) => device.app_version.as_ref().is_some_and(|version| {
            let stands = |edge: &AppVersion| compare_versions(version.as_str(), edge.as_str());
            range.from.as_ref().is_none_or(|(edge, is_in)| match stands(edge) {
                Ordering::Less => false,
                Ordering::Equal => *is_in,
                Ordering::Greater => true,
            }) && range.to.as_ref().is_none_or(|(edge, is_in)| match stands(edge) {
                Ordering::Less => true,
                Ordering::Equal => *is_in,
                Ordering::Greater => false,
            })
        }),
        Selector::Language(wanted) => device.language.as_ref().is_some_and(|language| {
            language == wanted || language.as_str().starts_with(&format!("{wanted}-"))
        }),
        Selector::Country(country) => device.country.as_ref() == Some(country),
        Selector::TimeZone(zone) => device.time_zone.as_ref() == Some(zone),
        Selector::LastSeen(span) => device.last_seen.is_some_and(|at| is_within(*span, at, now)),
        Selector::Registered(span) => is_within(*span, device.registered_at, now),
        Selector::Within(circle) => {
            device.location.is_some_and(|place| distance(circle.centre, place) <= f64::from(circle.radius_m))
        }
        Selector::OptedIn(wanted) => device.opt_in == *wanted,
        Selector::And(clauses) => clauses.iter().all(|clause| is_meant(device, clause, now)),
        Selector::Or(clauses) => clauses.iter().any(|clause| is_meant(device, clause, now)),
        Selector::Not(clause) => !is_meant(device, clause, now),
    }
}

fn is_so(value: Option<&Value>, is: &Comparison, now: Time) -> bool {
    let Some(value) = value else { return matches!(is, Comparison::Exists(false)) };
    let order = |edge: &Edge| match (value, &edge.value) {
        (Value::Number(one), Value::Number(other)) => one.partial_cmp(other),
        (Value::Date(one), Value::Date(other)) => Some(one.cmp(other)),
        _ => None,
    };
    match is {
        Comparison::Exists(exists) => *exists,
        Comparison::Equals(other) => value == other,
        Comparison::NotEquals(other) => value != other,
        Comparison::Range { from, to } => {
            let fits = |edge: &Option<Edge>, wanted| {
                edge.as_ref().is_none_or(|edge| match order(edge) {
                    Some(Ordering::Equal) => edge.included,
                    stands => stands == Some(wanted),
                })
            };
            (from.is_some() || to.is_some()) && fits(from, Ordering::Greater) && fits(to, Ordering::Less)
        }
        Comparison::Contains(part) => matches!(value, Value::Text(text) if text.contains(part.as_str())),
        Comparison::WithinSeconds(seconds) => {
            let (now, seconds) = (now.0 as i64, *seconds as i64);
            matches!(value, Value::Date(at) if *at <= now && *at >= now - seconds * 1_000)
        }
    }
}

fn is_within(span: Span, at: Time, now: Time) -> bool {
    let (at, now) = (at.0 / 1_000, now.0 / 1_000);
    match span {
        Span::WithinSeconds(seconds) => now.saturating_sub(at) <= seconds,
        Span::Between { from, to } => from.is_none_or(|from| at >= from) && to.is_none_or(|to| at < to),
    }
}

fn distance(one: Location, other: Location) -> f64 {
    let radians = |place: Location| (place.latitude().to_radians(), place.longitude().to_radians());
    let ((lat, lon), (other_lat, other_lon)) = (radians(one), radians(other));
    let half = |angle: f64| (angle / 2.0).sin().powi(2);
    let chord = half(lat - other_lat) + lat.cos() * other_lat.cos() * half(lon - other_lon);
    2.0 * 6_371_008.8 * chord.sqrt().asin()
}

/// A few words for each thing, so that things meet.
fn words<T, F>(make: F, words: &'static [&'static str]) -> impl Strategy<Value = T> + use<T, F>
where
    T: Clone + std::fmt::Debug + 'static,
    F: Fn(&str) -> T,
{
    prop::sample::select(words.iter().map(|word| make(word)).collect::<Vec<_>>())
}

fn parsed<T>(text: &str) -> T
where
    T: std::str::FromStr,
    T::Err: std::fmt::Debug,
{
    text.parse().expect("a word of these tests")
}

pub fn ids() -> impl Strategy<Value = DeviceId> {
    (0..24_u8).prop_map(|n| DeviceId::new(&format!("d{}", n * 7 % 24)).expect("an id"))
}

fn tags() -> impl Strategy<Value = Tag> {
    words(parsed, &["vip", "new", "loyalty:gold", "loyalty:vip", "list:beta", "list:staff", ":a:b"])
}

fn platforms() -> impl Strategy<Value = Platform> {
    words(parsed, &["ios", "android", "web"])
}

fn versions() -> impl Strategy<Value = AppVersion> {
    words(parsed, &["1.9", "2.3", "2.3.0", "2.10", "3.0-beta", "3"])
}

fn languages() -> impl Strategy<Value = Language> {
    words(parsed, &["de", "de-AT", "den", "en", "en-GB"])
}

fn countries() -> impl Strategy<Value = Country> {
    words(parsed, &["DE", "AT", "GB"])
}

fn zones() -> impl Strategy<Value = ZoneName> {
    words(parsed, &["Europe/Berlin", "America/New_York", "Asia/Kolkata"])
}

fn users() -> impl Strategy<Value = UserName> {
    words(parsed, &["u1", "u2", "u3"])
}

fn names() -> impl Strategy<Value = AttributeName> {
    words(parsed, &["score", "name", "joined", "any"])
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec!["Ada", "Bob", "Ada Lovelace", ""])
            .prop_map(|text| Value::Text(text.into())),
        (-3..4_i8).prop_map(|n| Value::Number(f64::from(n) / 2.0)),
        prop::sample::select(vec![1e300, -1e300, 4e15]).prop_map(Value::Number),
        (-2..4_i64).prop_map(|n| Value::Date(n * 500)),
        (0..3_i64).prop_map(|n| Value::Date(NOW.0 as i64 - n * 2_000)),
    ]
}

fn places() -> impl Strategy<Value = Location> {
    let towns = [
        (52.52, 13.405),
        (52.53, 13.41),
        (48.8566, 2.3522),
        (-33.8688, 151.2093),
        (0.0, 179.99),
        (0.0, -179.99),
    ];
    prop::sample::select(towns.map(|(lat, lon)| Location::new(lat, lon).expect("a place")).to_vec())
}

fn hours() -> impl Strategy<Value = QuietHours> {
    prop::sample::select(vec![(1_320, 420), (0, 1), (720, 780), (1_439, 0)])
        .prop_map(|(from, to)| QuietHours::new(from, to).expect("hours"))
}

pub const NOW: Time = Time(1_800_000_000_000);

fn change<T: std::fmt::Debug + Clone>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Option<Option<T>>> {
    prop_oneof![6 => Just(None), 1 => Just(Some(None)), 4 => value.prop_map(|value| Some(Some(value)))]
}

pub fn changes() -> impl Strategy<Value = Changes> {
    let fields = (
        change(platforms()),
        change(versions()),
        change(languages()),
        change(countries()),
        change(zones()),
        change(users()),
        change(hours()),
        change(places()),
    );
    let flags = (prop::option::of(any::<bool>()), prop::option::of(any::<bool>()), change(any::<[u8; 32]>()));
    let some_tags = || prop::collection::vec(tags(), 0..3);
    let tags = (prop::option::weighted(0.2, some_tags()), some_tags(), some_tags());
    let attributes = prop::collection::vec((names(), prop::option::weighted(0.8, values())), 0..4);
    (fields, flags, tags, attributes).prop_map(|(fields, flags, tags, attributes)| {
        let (platform, app_version, language, country, time_zone, user, quiet_hours, location) = fields;
        let (opt_in, revoked, credential) = flags;
        let (tags_set, tags_removed, tags_added) = tags;
        Changes {
            platform,
            app_version,
            language,
            country,
            time_zone,
            user,
            opt_in,
            quiet_hours,
            location,
            tags_set,
            tags_removed,
            tags_added,
            attributes,
            credential,
            revoked,
        }
    })
}

fn spans() -> impl Strategy<Value = Span> {
    let seconds = || prop::option::of((0..20_u64).prop_map(|n| NOW.0 / 1_000 - n));
    prop_oneof![
        (0..20_u64).prop_map(Span::WithinSeconds),
        (seconds(), seconds()).prop_map(|(from, to)| Span::Between { from, to }),
    ]
    .prop_filter("a span has an edge", |span| !matches!(span, Span::Between { from: None, to: None }))
}

fn comparisons() -> impl Strategy<Value = Comparison> {
    let edge = |value: Value, included| Edge { value, included };
    let range = (values(), values(), any::<[bool; 4]>()).prop_filter_map(
        "edges of one type",
        move |(one, other, is)| {
            let is_text = |value: &Value| matches!(value, Value::Text(_));
            if is_text(&one)
                || is_text(&other)
                || std::mem::discriminant(&one) != std::mem::discriminant(&other)
            {
                return None;
            }
            let from = is[0].then(|| edge(one, is[1]));
            let to = (is[2] || !is[0]).then(|| edge(other, is[3]));
            Some(Comparison::Range { from, to })
        },
    );
    prop_oneof![
        1 => values().prop_map(Comparison::Equals),
        1 => values().prop_map(Comparison::NotEquals),
        3 => range,
        1 => prop::sample::select(vec!["Ada", "b", "x"]).prop_map(|text| Comparison::Contains(text.into())),
        1 => (0..4_u64).prop_map(Comparison::WithinSeconds),
        1 => any::<bool>().prop_map(Comparison::Exists),
    ]
}

pub fn selectors() -> impl Strategy<Value = Selector> {
    let edge = || prop::option::of((versions(), any::<bool>()));
    let lists = words(parsed::<ListName>, &["beta", "staff", "nobody"]);
    let leaves = prop_oneof![
        1 => Just(Selector::All),
        6 => tags().prop_map(Selector::Tag),
        1 => Just(Selector::Tag(parsed("unknown"))),
        1 => users().prop_map(Selector::User),
        1 => ids().prop_map(Selector::Device),
        1 => prop::collection::vec(ids(), 0..6).prop_map(Selector::Devices),
        1 => lists.prop_map(Selector::List),
        6 => (names(), comparisons()).prop_map(|(name, is)| Selector::Attribute { name, is }),
        1 => comparisons().prop_map(|is| Selector::Attribute { name: parsed("unknown"), is }),
        2 => platforms().prop_map(Selector::Platform),
        2 => (edge(), edge())
            .prop_map(|(from, to)| VersionRange { from, to })
            .prop_filter("a range has an edge", |range| *range != VersionRange::default())
            .prop_map(Selector::Version),
        2 => languages().prop_map(Selector::Language),
        1 => countries().prop_map(Selector::Country),
        1 => zones().prop_map(Selector::TimeZone),
        2 => spans().prop_map(Selector::LastSeen),
        1 => spans().prop_map(Selector::Registered),
        2 => (places(), prop::sample::select(vec![1, 2_000, 900_000, 20_037_508]))
            .prop_map(|(centre, radius_m)| Selector::Within(Circle { centre, radius_m })),
        1 => any::<bool>().prop_map(Selector::OptedIn),
    ];
    leaves.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 1..5).prop_map(Selector::And),
            2 => prop::collection::vec(inner.clone(), 1..5).prop_map(Selector::Or),
            2 => inner.prop_map(|clause| Selector::Not(Box::new(clause))),
        ]
    })
}
