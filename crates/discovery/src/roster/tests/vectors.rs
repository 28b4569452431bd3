//! `proto/vectors/discovery.json`: entries of the registry, and when an instance is forgotten.
//!
//! The scripts are played against [`Roster`]; an implementation in another language plays the same
//! file.

use serde_json::json;
use stadium_testing::vectors::{
    Case, Step, VectorFile, check, check_that_alterations_are_found, check_that_defaults_matter,
};

use super::*;
use crate::instance::Value;

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;

#[test]
fn the_file_states_the_decisions_of_this_crate() {
    check(&file());
}

#[test]
fn an_altered_expectation_is_found() {
    check_that_alterations_are_found(&file());
}

#[test]
fn every_default_matters() {
    check_that_defaults_matter(&file());
}

fn file() -> VectorFile {
    VectorFile {
        name: "discovery.json",
        about: ABOUT,
        defaults: json!({"session_ttl_us": 10 * SECOND}),
        cases: vec![
            values(),
            places(),
            hearing(),
            goodbye(),
            dying(),
            all_dying(),
            outage(),
            doubt_and_outage(),
            contact(),
            changes(),
            versions(),
        ],
        play,
        command: "cargo test -p stadium-discovery --lib vectors",
    }
}

const ABOUT: &[&str] = &[
    "Entries of a registry, and the known instances of one service. at_us is a time in \
     microseconds of a monotonic clock. docs/discovery.md has the tree and the rules, \
     docs/rpc-guards.md the order in which they are applied.",
    "read_value: the JSON of an entry, with as many spaces behind it, and its fields; null: the \
     entry is skipped. write_value: fields, and the JSON that a registration writes. read_place: \
     the path below the name of the service, and its version and address; null: the entry is \
     skipped.",
    "An instance is written VERSION/ADDRESS, or as an object with place and the fields of its \
     value that differ from the defaults.",
    "listed: the backend listed all that it knows, after an outage (or for the first time) or \
     while in contact. announced: an instance is there, or has another value. removed: its entry \
     was removed. lost: the backend is away from now on. expire: instances whose doubt is over \
     are forgotten.",
    "The expectation of an event is its change: nothing, loads (watchers may be notified a \
     little later) or members (at once).",
    "snapshot: the instances that a watcher of `version` (any where absent) gets, in order, and \
     whether the list is live or stale. heard is false before the first list: nothing is \
     known.",
    "next_expiry: the time of the next expire, in microseconds from now; null where there is none.",
];

fn play(config: Step<'_>, steps: &[Step<'_>]) -> Vec<serde_json::Value> {
    let start = Instant::now();
    let clock = |step: &Step<'_>| start + Duration::from_micros(step.number_or("at_us", 0));
    let patience = Patience::new(Duration::from_micros(config.number("session_ttl_us")));
    let mut roster = Roster::new(patience, start, "not reached yet");
    steps.iter().map(|step| answer(&mut roster, *step, clock(step))).collect()
}

fn answer(roster: &mut Roster, step: Step<'_>, now: Instant) -> serde_json::Value {
    let change = match step.event() {
        "read_value" => {
            let json = step.text("json").to_owned() + &" ".repeat(step.number_or("spaces", 0) as usize);
            return Value::read(json.as_bytes()).map_or(json!({"value": null}), fields);
        }
        "write_value" => {
            let value: Value = serde_json::from_value(step.0["value"].clone()).expect("fields of a value");
            return json!(String::from_utf8(value.write()).expect("text"));
        }
        "read_place" => return place_read(step.text("path")),
        "snapshot" => return snapshot(roster, step),
        "next_expiry" => return expiry(roster, now),
        "listed" => {
            let after = if step.text("after") == "outage" { After::Outage } else { After::Contact };
            let found = step.0["instances"].as_array().expect("a list");
            roster.listed(found.iter().map(instance_of).collect(), after, now)
        }
        "announced" => roster.announced(instance_of(&step.0["instance"]), now),
        "removed" => roster.removed(&place(&instance_of(&step.0["instance"])), now),
        "lost" => roster.lost(now, "connection refused"),
        "expire" => roster.expire(now),
        event => panic!("no such event: {event}"),
    };
    json!(match change {
        Change::Nothing => "nothing",
        Change::Loads => "loads",
        Change::Members => "members",
    })
}

fn fields(value: Value) -> serde_json::Value {
    let Value { load, zone, weight, state } = value;
    json!({"value": {"load": load, "zone": zone, "weight": weight, "state": state}})
}

fn place_read(path: &str) -> serde_json::Value {
    match Place::read(path) {
        Some(place) => json!({"version": place.version, "address": place.address.to_string()}),
        None => json!({"version": null}),
    }
}

/// Reads `VERSION/ADDRESS`, or an object of a place and fields of a value.
fn instance_of(written: &serde_json::Value) -> Instance {
    let place = written["place"].as_str().or(written.as_str()).expect("a place");
    let value = match written.is_object() {
        true => serde_json::from_value(written.clone()).expect("fields of a value"),
        false => Value::default(),
    };
    Instance::new(&Place::read(place).expect("a place"), value)
}

fn snapshot(roster: &Roster, step: Step<'_>) -> serde_json::Value {
    let versions = step.text_if("version").map_or(Versions::Any, |one| Versions::Exactly(one.to_owned()));
    let snapshot = roster.snapshot(&versions);
    let instances = snapshot.instances.iter().map(|one| format!("{}/{}", one.version, one.address));
    json!({
        "instances": instances.collect::<Vec<_>>(),
        "is": if snapshot.freshness == Freshness::Live { "live" } else { "stale" },
        "heard": snapshot.revision > 0,
    })
}

fn expiry(roster: &Roster, now: Instant) -> serde_json::Value {
    let next = roster.next_expiry().map(|at| at.saturating_duration_since(now).as_micros() as u64);
    json!({"in_us": next})
}

fn values() -> Case {
    let texts = [
        "{}",
        r#"{"load":0.5,"zone":"a","weight":50,"state":"quiescing"}"#,
        r#" {"weight":0}"#,
        r#"{"color":"red","zone":null}"#,
        r#"{"load":0}"#,
        r#"{"load":12.5}"#,
        r#"{"weight":4294967295}"#,
        r#"{"weight":4294967296}"#,
        r#"{"weight":1.5}"#,
        r#"{"weight":-1}"#,
        r#"{"load":-1}"#,
        r#"{"load":1e40}"#,
        r#"{"load":"1"}"#,
        r#"{"state":"asleep"}"#,
        r#"{"state":"Serving"}"#,
        r#"[0.5,"a",50,"serving"]"#,
        "",
        "{",
        "null",
        "{} {}",
    ];
    let zone = |bytes: usize| format!(r#"{{"zone":"{}"}}"#, "z".repeat(bytes));
    let texts = texts.into_iter().map(str::to_owned).chain([zone(64), zone(65)]);
    let case =
        Case::new("the value of an entry: absent fields have defaults, and what makes no sense is skipped");
    let case = texts.fold(case, |case, text| case.entry("read_value", json!({"json": text})));
    case.entry("read_value", json!({"json": "{}", "spaces": 4_094}))
        .entry("read_value", json!({"json": "{}", "spaces": 4_095}))
        .entry("write_value", json!({"value": {}}))
        .entry(
            "write_value",
            json!({"value": {"load": 0.5, "zone": "a", "weight": 50, "state": "quiescing"}}),
        )
}

fn places() -> Case {
    let paths = [
        "1/10.0.0.1:7800",
        "1/[::1]:7800",
        "v1.2_b-3/10.0.0.1:1",
        "geo.internal:7800",
        "1/geo.internal:7800",
        "1/10.0.0.1",
        "1/::1:7800",
        "1/2/10.0.0.1:1",
        "/10.0.0.1:7800",
        "../10.0.0.1:7800",
        "1/10.0.0.1:65536",
        "1 /10.0.0.1:7800",
        "",
    ];
    paths.into_iter().fold(Case::new("the path of an entry below the name"), |case, path| {
        case.entry("read_place", json!({"path": path}))
    })
}

fn one(n: u32) -> String {
    format!("1/10.0.0.{n}:7800")
}

fn listed(case: Case, after: &str, which: &[u32]) -> Case {
    let instances: Vec<String> = which.iter().map(|n| one(*n)).collect();
    case.at("listed", json!({"after": after, "instances": instances}))
}

fn removed(case: Case, n: u32) -> Case {
    case.at("removed", json!({"instance": one(n)}))
}

fn announced(case: Case, n: u32, fields: serde_json::Value) -> Case {
    let mut instance = fields;
    instance["place"] = json!(one(n));
    case.at("announced", json!({"instance": instance}))
}

fn seen(case: Case) -> Case {
    case.at("snapshot", json!({})).at("next_expiry", json!({}))
}

fn expire(case: Case) -> Case {
    seen(case.at("expire", json!({})))
}

fn hearing() -> Case {
    let case = seen(Case::new("before the first list nothing is known, which is not nobody"));
    let case = expire(listed(case, "outage", &[]));
    seen(listed(seen(case.at("lost", json!({}))), "outage", &[2, 1]))
}

fn goodbye() -> Case {
    let case = listed(Case::new("an instance that withdraws is forgotten at once"), "outage", &[1, 2, 3]);
    let case = announced(case, 2, json!({"state": "quiescing"}));
    let case = seen(removed(seen(case), 2));
    // Missing after an outage is no goodbye, unless it had said so.
    let case = announced(case, 3, json!({"state": "quiescing"})).at("lost", json!({})).wait_us(SECOND);
    seen(listed(case, "outage", &[1]))
}

fn dying() -> Case {
    let case = listed(
        Case::new("a removed entry is in doubt for half a session, and forgotten unless it returns"),
        "outage",
        &[1, 2, 3],
    );
    let case = seen(removed(case, 1)).wait_us(2 * SECOND);
    let case = seen(removed(removed(case, 1), 2)).wait_us(3 * SECOND - 1);
    let case = expire(expire(case).wait_us(1)).wait_us(SECOND);
    let case = seen(announced(case, 2, json!({})));
    expire(removed(removed(case, 9), 3).wait_us(60 * SECOND))
}

fn all_dying() -> Case {
    let case = listed(
        Case::new("when the last of a version is removed, all in doubt are kept for two sessions"),
        "outage",
        &[1, 2, 3],
    );
    let case = removed(case, 1).wait_us(SECOND);
    let case = seen(removed(case, 2)).wait_us(SECOND);
    let case = seen(removed(case, 3)).wait_us(20 * SECOND - 1);
    let case = expire(expire(case).wait_us(1));
    seen(announced(case, 1, json!({})))
}

fn outage() -> Case {
    let case = listed(
        Case::new("nothing is forgotten while the backend is away, and missing ones stay for two sessions"),
        "outage",
        &[1, 2, 3],
    );
    let case = seen(removed(case, 3)).at("lost", json!({})).at("lost", json!({}));
    let case = expire(case.wait_us(3_600 * SECOND));
    let case = seen(listed(case, "outage", &[1])).wait_us(10 * SECOND);
    let case = seen(announced(case, 2, json!({}))).wait_us(10 * SECOND);
    expire(case)
}

fn doubt_and_outage() -> Case {
    let case = listed(Case::new("another outage stops the doubt, and it begins anew"), "outage", &[1, 2]);
    let case = case.at("lost", json!({})).wait_us(SECOND);
    let case = seen(listed(case, "outage", &[1])).wait_us(19 * SECOND);
    let case = expire(case.at("lost", json!({})).wait_us(50 * SECOND));
    let case = seen(listed(case, "outage", &[1])).wait_us(20 * SECOND - 1);
    expire(expire(case).wait_us(1))
}

fn contact() -> Case {
    let case = listed(Case::new("a list read in contact: what it lacks is as if removed"), "outage", &[1, 2]);
    let case = seen(listed(case, "contact", &[1, 2]));
    let case = seen(listed(case, "contact", &[2, 3])).wait_us(5 * SECOND);
    let case = expire(case);
    seen(listed(listed(case, "contact", &[]), "contact", &[3]))
}

fn changes() -> Case {
    let case =
        listed(Case::new("a load factor alone is news for later, anything else for now"), "outage", &[1]);
    let case = announced(announced(case, 1, json!({})), 1, json!({"load": 0.5}));
    let case = announced(announced(case, 1, json!({"load": 0.5})), 1, json!({"load": 0.5, "weight": 50}));
    let case = announced(announced(case, 1, json!({"load": 0.75, "weight": 50, "zone": "a"})), 2, json!({}));
    let case = seen(removed(announced(case, 2, json!({"state": "quiescing"})), 1));
    seen(announced(case, 1, json!({"load": 0.75, "weight": 50, "zone": "a"})))
}

fn versions() -> Case {
    let instances = json!([
        "2/10.0.0.1:7800",
        "1/10.0.0.10:7800",
        "1/10.0.0.9:7800",
        "1/10.0.0.1:12000",
        "1/10.0.0.1:7800",
        "1/[::1]:1",
        "10/10.0.0.1:7800",
    ]);
    let case = Case::new("versions are watched apart, and the last of one version says nothing of another");
    let case = case.at("listed", json!({"after": "outage", "instances": instances}));
    let both =
        |case: Case| case.at("snapshot", json!({"version": "1"})).at("snapshot", json!({"version": "2"}));
    let case = both(case.at("snapshot", json!({})).at("snapshot", json!({"version": "3"})));
    let case = both(case.at("removed", json!({"instance": "2/10.0.0.1:7800"})).at("next_expiry", json!({})));
    let case = both(case.at("removed", json!({"instance": "1/10.0.0.9:7800"})).at("next_expiry", json!({})));
    case.wait_us(5 * SECOND).at("expire", json!({})).at("snapshot", json!({}))
}
