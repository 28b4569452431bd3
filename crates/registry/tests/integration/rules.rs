//! Rules as tables: where mistakes in JSON are, what is refused, reasons in words.
//!
//! And quiet hours around the changes of the clocks.

use compact_str::CompactString;
use serde_json::json;
use stadium_registry::{
    AppVersion, Changes, DeviceId, Field, Filter, Language, Limits, QuietHours, Registry, Selector, Slot,
    Tag, Time, Value, ZoneName, refusal,
};

fn id(text: &str) -> DeviceId {
    DeviceId::new(text).expect("an id")
}

fn changes(json: serde_json::Value) -> Changes {
    Changes::parse(&json).expect("changes")
}

fn selector(json: serde_json::Value) -> Selector {
    Selector::parse(&json).expect("a selector")
}

fn at(text: &str) -> Time {
    let at: jiff::Timestamp = text.parse().expect("a time");
    Time(at.as_millisecond() as u64)
}

const NOW: Time = Time(1_800_000_000_000);

#[test]
fn a_bad_selector_gets_the_path_of_the_mistake_and_what_is_allowed() {
    let table = [
        (json!("everybody"), "it is a text, and the only one that is a selector is \"all\""),
        (json!(7), "it must be \"all\" or an object like {\"tag\": \"vip\"}"),
        (json!({}), "an empty object is no clause; \"all\" means all devices"),
        (json!({"tags": "vip"}), "tags: unknown field; did you mean \"tag\"?"),
        (json!({"wheel": 1}), "wheel: unknown field; known are tag, named_user"),
        (json!({"group": "loyalty"}), "\"group\" needs a \"tag\" beside it"),
        (json!({"tag": "vip", "grop": "x"}), "grop: unknown field; did you mean \"group\"?"),
        (json!({"tag": "vip", "list": "x"}), "an object is one clause, and this has"),
        (json!({"tag": ""}), "tag: this is no name of a tag: it is empty"),
        (json!({"tag": "x", "group": "a:b"}), "group: this is no name of a tag group: it holds ':'"),
        (json!({"tag": ["vip"]}), "tag: it is a list, and must be a text"),
        (json!({"and": []}), "and: it needs at least one clause"),
        (json!({"and": {"tag": "x"}}), "and: it is an object, and must be a list"),
        (
            json!({"and": [{"tag": "x"}, {"or": ["all", {"platfrom": "ios"}]}]}),
            "and[1].or[1].platfrom: unknown field; did you mean \"platform\"?",
        ),
        (json!({"not": {"not": {"country": "Germany"}}}), "not.not.country: this is no name of a country"),
        (json!({"devices": ["a", "b/c"]}), "devices[1]: this is no name of a device: it holds '/'"),
        (json!({"platform": "iOS"}), "platform: this is no name of a platform: it holds 'O'"),
        (json!({"language": "d"}), "language: this is no name of a language"),
        (
            json!({"time_zone": "Europe/Atlantis"}),
            "time_zone: this is no name of a time zone (IANA, as Europe/Berlin): \"Europe/Atlantis\" is none",
        ),
        (json!({"attribute": "score"}), "it lacks a comparison: one of equals, not_equals"),
        (json!({"attribute": "score", "more_than": 5}), "more_than: unknown field; known are"),
        (
            json!({"attribute": "score", "greather_than": 5}),
            "greather_than: unknown field; did you mean \"greater_than\"?",
        ),
        (
            json!({"attribute": "score", "at_least": "5"}),
            "at_least: it is a text, and must be a number or a date",
        ),
        (
            json!({"attribute": "born", "at_least": "2000-01-01T00:00:00Z"}),
            "at_least: it is a text, and must be a number or a date; a date is written {\"date\": \"2000-01-01T00:00:00Z\"}",
        ),
        (json!({"attribute": "born", "before": "2000-01-01"}), "before: it is no time in RFC 3339"),
        (
            json!({"attribute": "x", "at_least": 1, "before": "2000-01-01T00:00:00Z"}),
            "one edge of the range is a number and the other one a date",
        ),
        (
            json!({"attribute": "x", "at_least": 1, "greater_than": 2}),
            "greater_than: the range has this edge already",
        ),
        (
            json!({"attribute": "x", "at_least": 1, "exists": true}),
            "exists: it does not go together with a range",
        ),
        (
            json!({"attribute": "x", "equals": 1, "exists": true}),
            "\"equals\" and \"exists\" don't go together",
        ),
        (json!({"attribute": "x", "equals": null}), "equals: a value is a text, a number, or a date"),
        (json!({"attribute": "x", "contains": ""}), "contains: every text contains the empty one"),
        (
            json!({"attribute": "x", "within_s": -1}),
            "within_s: it is a number, and must be a whole number from 0 on",
        ),
        (json!({"attribute": "a b", "exists": true}), "attribute: this is no name of an attribute"),
        (json!({"app_version": {}}), "app_version: it needs one of equals, greater_than"),
        (
            json!({"app_version": {"atleast": "1"}}),
            "app_version.atleast: unknown field; did you mean \"at_least\"?",
        ),
        (json!({"app_version": {"at_least": 2}}), "app_version.at_least: it is a number, and must be a text"),
        (
            json!({"app_version": {"equals": "2", "at_most": "3"}}),
            "app_version.equals: the range has this edge already",
        ),
        (
            json!({"last_seen": {"within_s": 1, "before": "2000-01-01T00:00:00Z"}}),
            "last_seen: \"within_s\" stands alone",
        ),
        (json!({"last_seen": {}}), "last_seen: it needs \"within_s\", \"before\" or \"after\""),
        (
            json!({"registered": {"after": "1969-01-01T00:00:00Z"}}),
            "registered.after: no device was there before 1970",
        ),
        (
            json!({"location": {"latitude": 91, "longitude": 0, "radius_m": 5}}),
            "location.latitude: a latitude is -90 to 90 degrees",
        ),
        (
            json!({"location": {"latitude": 9, "longitude": -181, "radius_m": 5}}),
            "location.longitude: a longitude is",
        ),
        (json!({"location": {"latitude": 9, "longitude": 1}}), "location: it lacks \"radius_m\""),
        (
            json!({"location": {"latitude": 9, "longitude": 1, "radius_m": 0}}),
            "location.radius_m: a radius is 1 to",
        ),
        (json!({"opted_in": "yes"}), "opted_in: it is a text, and must be true or false"),
    ];
    for (json, expected) in table {
        let mistake = Selector::parse(&json).expect_err(expected).to_string();
        assert!(mistake.starts_with(expected), "{json}\n  {mistake}\n  {expected}");
    }
    let mistake = Selector::parse_text("{\"tag\": ").expect_err("it ends");
    assert!(mistake.reason.starts_with("it is no JSON: EOF"), "{mistake}");
}

#[test]
fn selectors_are_bounded() {
    let mut deep = json!("all");
    (0..16).for_each(|_| deep = json!({ "not": deep }));
    Selector::parse(&deep).expect("sixteen levels");
    let mistake = Selector::parse(&json!({ "and": [deep] })).expect_err("seventeen levels");
    assert!(mistake.path.starts_with("and[0].not.not"), "{mistake}");
    assert_eq!(mistake.reason, "and, or and not stand in each other at most 16 deep");

    let mistake = Selector::parse(&json!({ "or": vec!["all"; 200] })).expect_err("201 clauses");
    assert_eq!(mistake.to_string(), "or[199]: a selector has at most 200 clauses");
    Selector::parse(&json!({ "or": vec!["all"; 199] })).expect("200 clauses");

    let devices: Vec<String> = (0..10_000).map(|n| format!("d{n}")).collect();
    Selector::parse(&json!({ "devices": devices })).expect("10,000 devices");
    let mistake =
        Selector::parse(&json!({ "or": [{ "devices": devices }, { "device": "one" }] })).expect_err("more");
    assert_eq!(
        mistake.to_string(),
        "or[1].device: a selector names at most 10000 devices; put them on a list"
    );
}

#[test]
fn bad_changes_get_the_path_of_the_mistake() {
    let table = [
        (json!([]), "it is a list, and must be an object"),
        (json!({"time_zome": "UTC"}), "time_zome: unknown field; did you mean \"time_zone\"?"),
        (json!({"opt_in": null}), "opt_in: it is null, and must be true or false"),
        (json!({"quiet_hours": {"from": "22:00"}}), "quiet_hours: it lacks \"to\""),
        (
            json!({"quiet_hours": {"from": "22:00", "to": "7:00"}}),
            "quiet_hours.to: it is no time of day, as 22:30 is",
        ),
        (json!({"quiet_hours": {"from": "24:00", "to": "07:00"}}), "quiet_hours.from: it is no time of day"),
        (
            json!({"quiet_hours": {"from": "07:00", "to": "07:00"}}),
            "quiet_hours: quiet hours end at another time",
        ),
        (
            json!({"location": {"latitude": 1, "longitude": 2, "radius_m": 3}}),
            "location.radius_m: unknown field",
        ),
        (json!({"tags": "vip"}), "tags: it must be a list of tags"),
        (json!({"tags": {"ad": []}}), "tags.ad: unknown field; did you mean \"add\"?"),
        (json!({"tags": {"add": ["x", {"group": "g"}]}}), "tags.add[1]: it lacks \"tag\""),
        (json!({"attributes": {"a b": 1}}), "attributes.a b: this is no name of an attribute"),
        (json!({"attributes": {"x": true}}), "attributes.x: a value is a text, a number, or a date"),
        (
            json!({"attributes": {"x": 9_007_199_254_740_993_u64}}),
            "attributes.x: whole numbers are exact up to 9007199254740992",
        ),
        (json!({"attributes": {"x": {"date": "soon"}}}), "attributes.x.date: it is no time in RFC 3339"),
        (json!({"attributes": {"x": {"dat": 1}}}), "attributes.x.dat: unknown field; did you mean \"date\"?"),
    ];
    for (json, expected) in table {
        let mistake = Changes::parse(&json).expect_err(expected).to_string();
        assert!(mistake.starts_with(expected), "{json}\n  {mistake}\n  {expected}");
    }
    let line = json!({"device": "d1", "platform": "ios"});
    assert!(Changes::parse(&line).is_err());
    assert_eq!(
        Changes::parse_beside(&line, &["device"]).expect("changes"),
        changes(json!({"platform": "ios"}))
    );
}

#[test]
fn standard_codes_with_several_spellings_are_kept_in_one() {
    for (text, usual) in [
        ("DE", "de"),
        ("de-at", "de-AT"),
        ("zh-hANT-tw", "zh-Hant-TW"),
        ("en_GB", "en-GB"),
        ("de-CH-1996", "de-CH-1996"),
        ("sl-rozaj-biske", "sl-rozaj-biske"),
        ("en-x-us-IOSX", "en-x-us-iosx"),
    ] {
        assert_eq!(Language::new(text).expect("a language").as_str(), usual);
    }
    for text in ["", "d", "d1", "de-", "-de", "de-123456789", "de AT"] {
        assert!(Language::new(text).is_err(), "{text:?}");
    }
    assert_eq!(ZoneName::new("europe/BERLIN").expect("a zone").as_str(), "Europe/Berlin");
    let tag = |text: &str| text.parse::<Tag>().expect("a tag");
    assert_eq!((tag("loyalty:gold").group(), tag("loyalty:gold").name.as_str()), ("loyalty", "gold"));
    assert_eq!((tag("::x").group(), tag(":a:b").name.as_str()), ("", "a:b"));
    assert_eq!((tag(":a:b").to_string(), tag("vip").to_string()), (":a:b".into(), "vip".into()));
}

#[test]
fn bounds_are_kept_and_reported() {
    let limits = Limits {
        devices_max: 3,
        tags_per_device: 2,
        attributes_per_device: 2,
        devices_per_user: 1,
        text_bytes_max: 5,
        tags_max: 4,
        attribute_names_max: 3,
        field_values_max: 2,
    };
    let mut registry = Registry::new(limits, 1);
    let mut put = |device: &str, json: serde_json::Value| {
        let (device, changes) = (id(device), changes(json));
        registry.check(&device, &changes).map_err(|refusal| refusal.code())?;
        registry.apply(NOW, &device, &changes);
        Ok(())
    };
    let table = [
        ("a", json!({"tags": ["t1", "t2", "t3"]}), Err(refusal::TAGS)),
        ("a", json!({"tags": ["t1", "t2"]}), Ok(())),
        ("a", json!({"tags": {"add": ["t3"]}}), Err(refusal::TAGS)),
        ("a", json!({"tags": {"add": ["t1"], "remove": ["t2"]}}), Ok(())),
        ("b", json!({"tags": ["t2", "t3"]}), Ok(())),
        ("c", json!({"tags": ["t4", "t5"]}), Err(refusal::TAGS_FULL)),
        ("c", json!({"tags": ["t4", "t1"]}), Ok(())),
        ("d", json!({}), Err(refusal::DEVICES_FULL)),
        ("a", json!({"attributes": {"x": 1, "y": 1, "z": 1}}), Err(refusal::ATTRIBUTES)),
        ("a", json!({"attributes": {"x": 1, "y": 1}}), Ok(())),
        ("a", json!({"attributes": {"x": null, "z": "12345"}}), Ok(())),
        ("a", json!({"attributes": {"z": "123456"}}), Err(refusal::TEXT)),
        ("b", json!({"attributes": {"x": 1, "w": 1}}), Err(refusal::ATTRIBUTE_NAMES_FULL)),
        ("a", json!({"named_user": "u"}), Ok(())),
        ("a", json!({"named_user": "u"}), Ok(())),
        ("b", json!({"named_user": "u"}), Err(refusal::USER_DEVICES)),
        ("a", json!({"app_version": "1"}), Ok(())),
        ("b", json!({"app_version": "2"}), Ok(())),
        ("c", json!({"app_version": "3"}), Err(refusal::FIELDS_FULL)),
        ("c", json!({"app_version": "1"}), Ok(())),
        ("a", json!({"tags": {"remove": vec!["t"; 1_001]}}), Err(refusal::CHANGES)),
    ];
    for (device, json, expected) in table {
        assert_eq!(put(device, json.clone()), expected, "{device} {json}");
    }
    // Values that no device has any more make room.
    registry.remove(&id("b"));
    registry.check(&id("d"), &changes(json!({"app_version": "3", "tags": ["t5"]}))).expect("there is room");
}

#[test]
fn a_span_as_long_as_a_number_can_be_is_for_ever() {
    let mut registry = Registry::new(Limits::default(), 1);
    let born = changes(json!({"attributes": {"born": {"date": "1990-05-17T00:00:00Z"}}}));
    registry.apply(NOW, &id("a"), &born);
    let slot = registry.find(&id("a")).expect("it is registered");
    registry.seen(slot, NOW);
    for clause in [
        json!({"registered": {"within_s": u64::MAX}}),
        json!({"last_seen": {"within_s": u64::MAX}}),
        json!({"attribute": "born", "within_s": u64::MAX}),
    ] {
        let selector = selector(clause.clone());
        assert_eq!(registry.evaluate(&selector, NOW).len(), 1, "{clause}");
        assert_eq!(registry.clauses(&selector, NOW)[0].matches, 1, "{clause}");
    }
}

#[test]
fn the_memory_of_a_text_is_given_back_however_it_was_made() {
    let mut registry = Registry::new(Limits::default(), 1);
    // As long as its capacity, with room for more, and as a clone has it: counted when one comes and another one goes.
    let words = "thirty characters of plain text";
    let mut roomy = CompactString::with_capacity(4_000);
    roomy.push_str(words);
    let clone = roomy.clone();
    let mut seen = Vec::new();
    for text in [CompactString::from(words.to_owned()), roomy, clone] {
        let name = "name".parse().expect("a name");
        let attributes = vec![(name, Some(Value::Text(text)))];
        registry.apply(NOW, &id("a"), &Changes { attributes, ..Changes::default() });
        let held = registry.bytes();
        registry.remove(&id("a"));
        seen.push((held, registry.bytes()));
    }
    assert!(seen.iter().all(|bytes| *bytes == seen[0]), "{seen:?}");
}

#[test]
fn quiet_hours_are_those_of_the_devices_clock() {
    let berlin = Some("Europe/Berlin");
    // from, to, zone, now, until
    let table = [
        // Over midnight, in winter an hour ahead of UTC.
        ("22:00", "07:00", berlin, "2026-01-10T20:59:59Z", None),
        ("22:00", "07:00", berlin, "2026-01-10T21:00:00Z", Some("2026-01-11T06:00:00Z")),
        ("22:00", "07:00", berlin, "2026-01-11T05:59:59.999Z", Some("2026-01-11T06:00:00Z")),
        ("22:00", "07:00", berlin, "2026-01-11T06:00:00Z", None),
        // Without a zone, and in one of half hours.
        ("12:00", "13:00", None, "2026-01-10T12:30:00Z", Some("2026-01-10T13:00:00Z")),
        ("12:00", "13:00", Some("Asia/Kolkata"), "2026-01-10T06:30:00Z", Some("2026-01-10T07:30:00Z")),
        ("12:00", "13:00", Some("Asia/Kolkata"), "2026-01-10T12:30:00Z", None),
        // The night in which the clocks go forward, 02:00 to 03:00: an hour shorter.
        ("22:00", "07:00", berlin, "2026-03-28T21:00:00Z", Some("2026-03-29T05:00:00Z")),
        // They end in the hour that does not exist: when it would begin.
        ("22:00", "02:30", berlin, "2026-03-29T00:59:00Z", Some("2026-03-29T01:00:00Z")),
        ("22:00", "02:30", berlin, "2026-03-29T01:00:00Z", None),
        // They begin in it.
        ("02:30", "04:00", berlin, "2026-03-29T00:59:59Z", None),
        ("02:30", "04:00", berlin, "2026-03-29T01:00:00Z", Some("2026-03-29T02:00:00Z")),
        // They are all within it.
        ("02:10", "02:50", berlin, "2026-03-29T01:00:00Z", None),
        // The night in which the clocks go back, 03:00 to 02:00: an hour longer.
        ("22:00", "07:00", berlin, "2026-10-24T20:00:00Z", Some("2026-10-25T06:00:00Z")),
        // The hour that comes twice is quiet twice, up to where they end in it.
        ("22:00", "02:30", berlin, "2026-10-25T00:15:00Z", Some("2026-10-25T00:30:00Z")),
        ("22:00", "02:30", berlin, "2026-10-25T00:45:00Z", None),
        ("22:00", "02:30", berlin, "2026-10-25T01:15:00Z", Some("2026-10-25T01:30:00Z")),
        // They begin in the first of both, and go on through the second.
        ("02:00", "02:59", berlin, "2026-10-25T00:58:59Z", Some("2026-10-25T00:59:00Z")),
        ("02:30", "01:00", berlin, "2026-10-25T00:45:00Z", Some("2026-10-25T01:00:00Z")),
        ("02:30", "01:00", berlin, "2026-10-25T01:00:00Z", None),
        ("02:30", "01:00", berlin, "2026-10-25T01:30:00Z", Some("2026-10-26T00:00:00Z")),
    ];
    for (from, to, zone, now, until) in table {
        let mut registry = Registry::new(Limits::default(), 1);
        let slot = registry.apply(
            NOW,
            &id("d"),
            &changes(json!({"time_zone": zone, "quiet_hours": {"from": from, "to": to}})),
        );
        registry.apply(NOW, &id("loud"), &changes(json!({"time_zone": zone})));
        let until = until.map(at);
        assert_eq!(registry.quiet_until(slot, at(now)), until, "{from} to {to} at {now}");
        let quiet: Vec<(Slot, Time)> = registry.in_quiet_hours(at(now)).collect();
        assert_eq!(quiet, until.map(|until| (slot, until)).into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn quiet_hours_of_many_devices_are_reported_in_groups() {
    let mut registry = Registry::new(Limits::default(), 1);
    let zones = [Some("Europe/Berlin"), Some("America/New_York"), None];
    for n in 0..300 {
        let quiet = (n % 4 > 0).then(|| json!({"from": "22:00", "to": format!("0{}:00", 5 + n % 2)}));
        registry.apply(
            NOW,
            &id(&format!("d{n}")),
            &changes(json!({"time_zone": zones[n % 3], "quiet_hours": quiet})),
        );
    }
    for hour in 0..48 {
        let now = Time(at("2026-03-28T00:00:00Z").0 + hour * 3_600_000);
        let mut groups: Vec<(Slot, Time)> = registry.in_quiet_hours(now).collect();
        groups.sort();
        let singly = registry
            .devices()
            .iter()
            .filter_map(|slot| Some((Slot(slot), registry.quiet_until(Slot(slot), now)?)));
        assert!(groups.iter().copied().eq(singly), "hour {hour}");
    }
}

#[test]
fn the_reason_names_the_clause_and_what_the_device_has() {
    let mut registry = Registry::new(Limits::default(), 1);
    let slot = registry.apply(
        Time(1_000_000),
        &id("phone"),
        &changes(json!({
            "platform": "ios", "app_version": "2.1", "language": "de-AT", "tags": ["vip"],
            "attributes": {"score": 5, "name": "Ada"}, "location": {"latitude": 52.52, "longitude": 13.405}
        })),
    );
    let table = [
        (json!({"tag": "new"}), "tag \"new\""),
        (
            json!({"and": [{"tag": "vip"}, {"tag": "gold", "group": "loyalty"}]}),
            "and[1]: tag \"gold\" of group \"loyalty\"",
        ),
        (
            json!({"and": ["all", {"and": [{"tag": "vip"}, {"platform": "android"}]}]}),
            "and[1].and[1]: platform android (it has ios)",
        ),
        (
            json!({"attribute": "score", "greater_than": 5, "at_most": 7.5}),
            "attribute \"score\" above 5 and at most 7.5 (it is 5)",
        ),
        (
            json!({"attribute": "born", "before": "2000-01-01T00:00:00Z"}),
            "attribute \"born\" below 2000-01-01T00:00:00Z (it has none)",
        ),
        (
            json!({"attribute": "name", "equals": "Bob"}),
            "attribute \"name\" equal to \"Bob\" (it is \"Ada\")",
        ),
        (json!({"app_version": {"at_least": "2.2"}}), "app version at least 2.2 (it has 2.1)"),
        (json!({"country": "DE"}), "country DE (it has none)"),
        (json!({"last_seen": {"within_s": 60}}), "last seen within the last 60 s (it was never connected)"),
        (
            json!({"location": {"latitude": 52.53, "longitude": 13.405, "radius_m": 1000}}),
            "within 1000 m of 52.53, 13.405 (it is 1112 m away)",
        ),
        (json!({"not": {"language": "de"}}), "not language de (it has de-AT)"),
        (
            json!({"or": [{"tag": "a"}, {"tag": "b"}, {"list": "c"}]}),
            "one of (tag \"a\", tag \"b\", list \"c\")",
        ),
        (json!({"opted_in": false}), "opted out"),
    ];
    for (json, expected) in table {
        let excluded = registry.explain(&selector(json.clone()), slot, NOW);
        assert_eq!(excluded.map(|excluded| excluded.to_string()).as_deref(), Some(expected), "{json}");
    }
    assert_eq!(registry.explain(&selector(json!({"language": "de"})), slot, NOW), None);
    assert_eq!(registry.explain(&Selector::All, Slot(7), NOW), None);
}

#[test]
fn the_clauses_of_a_preview_count_whom_they_keep_out() {
    let mut registry = Registry::new(Limits::default(), 1);
    for n in 0..100 {
        let platform = if n < 60 { "ios" } else { "android" };
        let tags = if n % 2 == 0 { json!(["vip"]) } else { json!([]) };
        registry.apply(NOW, &id(&format!("d{n}")), &changes(json!({"platform": platform, "tags": tags})));
    }
    let asked = selector(json!({"and": [{"platform": "ios"}, {"or": [{"tag": "vip"}, {"device": "d1"}]}]}));
    let rows: Vec<_> = registry
        .clauses(&asked, NOW)
        .into_iter()
        .map(|count| (count.path, count.clause, count.matches, count.keeps_out))
        .collect();
    let row = |path: &str, clause: &str, matches, keeps_out| {
        (path.to_owned(), clause.to_owned(), matches, keeps_out)
    };
    assert_eq!(
        rows,
        [
            row("", "all of (platform ios, one of (tag \"vip\", device \"d1\"))", 31, 0),
            row("and[0]", "platform ios", 60, 40),
            row("and[1]", "one of (tag \"vip\", device \"d1\")", 51, 29),
            row("and[1].or[0]", "tag \"vip\"", 50, 0),
            row("and[1].or[1]", "device \"d1\"", 1, 0),
        ]
    );
}

#[test]
fn lists_stay_when_all_tags_are_set() {
    let mut registry = Registry::new(Limits::default(), 1);
    registry.apply(NOW, &id("d"), &changes(json!({"tags": ["a", "list:beta"]})));
    let slot = registry.apply(NOW, &id("d"), &changes(json!({"tags": ["b"]})));
    let device = registry.device(slot).expect("it is there");
    assert!(device.tags.iter().map(ToString::to_string).eq(["b", "list:beta"]));
    let json = device.to_json();
    assert_eq!((&json["tags"], &json["lists"]), (&json!(["b"]), &json!(["beta"])));
    assert_eq!(registry.count(&selector(json!({"list": "beta"})), NOW), 1);
}

#[test]
fn pages_go_by_id_and_fields_are_counted() {
    let mut registry = Registry::new(Limits::default(), 1);
    for n in 0..50 {
        let version = format!("1.{}", n % 3);
        let user = format!("u{}", n % 10);
        registry.apply(
            NOW,
            &id(&format!("d{n:02}")),
            &changes(json!({"app_version": version, "named_user": user})),
        );
    }
    let ids = |filter: &Filter, after: Option<&str>, at_most| -> Vec<String> {
        let page = registry.list(filter, after.map(id).as_ref(), at_most);
        page.into_iter().map(|device| device.id.to_string()).collect()
    };
    let all = Filter::default();
    assert_eq!(ids(&all, None, 3), ["d00", "d01", "d02"]);
    // It need not be there: it may have gone between two pages.
    assert_eq!(ids(&all, Some("d07x"), 2), ["d08", "d09"]);
    assert_eq!(ids(&Filter { prefix: "d4".into(), ..Filter::default() }, Some("d48"), 9), ["d49"]);
    let user = Filter { user: Some("u7".parse().expect("a user")), ..Filter::default() };
    assert_eq!(ids(&user, Some("d07"), 2), ["d17", "d27"]);
    let counts = registry.counts(Field::AppVersion);
    assert!(counts.iter().map(|(text, count)| (text.as_str(), *count)).eq([
        ("1.0", 17),
        ("1.1", 17),
        ("1.2", 16)
    ]));
    assert_eq!(registry.counts(Field::Country), []);
}

#[test]
fn many_apps_with_few_devices_are_small() {
    let info = allocation_counter::measure(|| {
        let mut registry = Registry::new(Limits::default(), 1);
        for n in 0..10 {
            registry.apply(NOW, &id(&format!("d{n}")), &changes(json!({"tags": ["a"], "platform": "ios"})));
        }
        std::mem::forget(registry);
    });
    assert!(info.bytes_current < 64 << 10, "{} bytes", info.bytes_current);
}

#[test]
fn quiet_hours_and_versions_are_read_as_written() {
    assert_eq!(QuietHours::new(1_320, 1_320), None);
    assert_eq!(QuietHours::new(0, 1_440), None);
    let hours = QuietHours::new(1_320, 420).expect("hours");
    assert!(
        hours.contains(0) && hours.contains(79_200) && !hours.contains(79_199) && !hours.contains(25_200)
    );
    assert!(AppVersion::new("2.3 beta").is_err());
}
