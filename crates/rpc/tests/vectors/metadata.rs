//! `rpc-metadata.json`: the entries of requests, of SETUP and of METADATA_PUSH, as fields and as
//! bytes.
//!
//! Requests go to a real server; the expectation is the function's view of the request, or the
//! error frame.

use serde_json::{Value, json};
use stadium_rpc::metadata::authentication::{self, Authentication};
use stadium_rpc::metadata::{Mime, write_entry};
use stadium_rpc::wire;
use stadium_testing::vectors::{Case, Step, VectorFile, hex_of};

use crate::probe::Probe;

pub fn file() -> VectorFile {
    VectorFile {
        name: "rpc-metadata.json",
        about: ABOUT,
        defaults: json!({"metadata_mime": wire::METADATA_MIME}),
        cases: vec![
            encoding(),
            requests(),
            hostile_requests(),
            deadlines(),
            bare_routes(),
            pushes(),
            setups(),
        ],
        play,
        command: crate::COMMAND,
    }
}

const ABOUT: &[&str] = &[
    "Entries of metadata as Stadium's RPC writes and reads them. Fields that end in _hex are \
     bytes.",
    "encode: `entries` are written one after the other; `hex` is their sum. An entry is one of \
     route, left_ms, key_hex, bearer, simple (username and password), load (load_factor and \
     quiescing) and peer.",
    "request: a client opens a connection whose SETUP has the case's metadata_mime, and sends a \
     request with this metadata and data. The interaction is REQUEST_RESPONSE, or REQUEST_STREAM \
     where `interaction` is stream.",
    "The server of a request has the service geo with a unary method geo/Last and a stream \
     geo/Near. A message has one field, the string 1. The server's default deadline is 5,000 ms, \
     its longest 600,000 ms.",
    "The expectation of a request is the function's view of it (route, time left, key, \
     authentication; null where absent), or the error frame: error_code, and `code`, the part of \
     the text before the first colon and space. The rest of the text is for people.",
    "load: the content of METADATA_PUSH as a client reads it. A load_factor of null: it is \
     ignored.",
    "setup: the metadata of SETUP as a server reads it. peer is true where the server shall push \
     its load.",
];

fn play(config: Step<'_>, steps: &[Step<'_>]) -> Vec<Value> {
    let mut probe = None;
    let mut answer = |step: &Step<'_>| match step.event() {
        "encode" => json!({"hex": hex_of(&encode(&step.list("entries")))}),
        "request" => probe.get_or_insert_with(|| Probe::new(config.text("metadata_mime"))).request(
            step.text_if("interaction").unwrap_or_default(),
            &step.bytes("metadata_hex"),
            &step.text_if("data_hex").map(stadium_testing::vectors::bytes_of).unwrap_or_default(),
        ),
        "load" => match wire::read_load(&step.bytes("hex")) {
            Some((factor, quiescing)) => json!({"load_factor": factor, "quiescing": quiescing}),
            None => json!({"load_factor": null}),
        },
        "setup" => json!({"peer": wire::is_stadium_peer(&step.bytes("hex"))}),
        event => panic!("no such event: {event}"),
    };
    steps.iter().map(&mut answer).collect()
}

fn encode(entries: &[Step<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        let (name, value) = entry.0.as_object().and_then(|fields| fields.iter().next()).expect("one field");
        match name.as_str() {
            "route" => wire::write_route(&mut out, entry.text(name)),
            "left_ms" => wire::write_deadline(&mut out, entry.small(name)),
            "key_hex" => wire::write_key(&mut out, &entry.bytes(name)),
            "bearer" => authentication::write(&mut out, Authentication::Bearer(entry.text(name))),
            "simple" => authentication::write(&mut out, simple(Step(value))),
            "load" => {
                let load = Step(value);
                wire::write_load(&mut out, load.float("load_factor") as f32, load.is("quiescing"));
            }
            "peer" => wire::write_peer(&mut out),
            "other" => {
                let other = Step(value);
                write_entry(&mut out, Mime::of(other.text("mime")), &other.bytes("content_hex"));
            }
            _ => panic!("no such entry: {name}"),
        }
    }
    out
}

fn simple(step: Step<'_>) -> Authentication<'_> {
    Authentication::Simple { username: step.text("username"), password: step.text("password") }
}

fn hex(entries: Value) -> String {
    let Value::Array(entries) = entries else { panic!("a list of entries") };
    hex_of(&encode(&entries.iter().map(Step).collect::<Vec<_>>()))
}

fn encoding() -> Case {
    let longest = "m".repeat(250);
    let lists = [
        json!([{"route": "geo/Last"}]),
        json!([{"route": ""}]),
        json!([{"route": format!("geo/{longest}")}]),
        json!([{"left_ms": 0}]),
        json!([{"left_ms": 1_500}]),
        json!([{"left_ms": u32::MAX}]),
        json!([{"key_hex": ""}]),
        json!([{"key_hex": "6465766963652d3137"}]),
        json!([{"key_hex": "00ff80"}]),
        json!([{"bearer": "secret"}]),
        json!([{"simple": {"username": "Zoë", "password": "pass"}}]),
        json!([{"load": {"load_factor": 0.0, "quiescing": false}}]),
        json!([{"load": {"load_factor": 0.75, "quiescing": true}}]),
        json!([{"load": {"load_factor": 2.5, "quiescing": false}}]),
        json!([{"peer": true}]),
        json!([{"route": "geo/Last"}, {"left_ms": 1_500}, {"bearer": "secret"}, {"key_hex": "6b31"}]),
    ];
    let case = Case::new("entries as they are written; the last is a whole request in the client's order");
    case.each(lists, |case, entries| case.entry("encode", json!({"entries": entries})))
}

fn request(case: Case, metadata_hex: String) -> Case {
    case.entry("request", json!({"metadata_hex": metadata_hex}))
}

fn requests() -> Case {
    let route = json!({"route": "geo/Last"});
    let lists = [
        json!([route]),
        json!([route, {"left_ms": 60_000}]),
        json!([{"left_ms": 60_000}, route]),
        json!([route, {"key_hex": "6b31"}]),
        json!([route, {"key_hex": ""}]),
        json!([route, {"key_hex": "6b31"}, {"key_hex": "6b32"}]),
        json!([route, {"route": "geo/Near"}]),
        json!([route, {"bearer": "secret"}]),
        json!([route, {"bearer": ""}]),
        json!([route, {"simple": {"username": "zoe", "password": "pass"}}]),
        json!([route, {"bearer": "first"}, {"bearer": "second"}]),
        json!([{"other": {"mime": "application/json", "content_hex": "7b7d"}}, route]),
        json!([{"other": {"mime": "message/x.another.v1", "content_hex": ""}}, route]),
        json!([route, {"left_ms": 60_000}, {"bearer": "secret"}, {"key_hex": "6b31"}]),
    ];
    let case = Case::new("requests that are understood").each(lists, |case, list| request(case, hex(list)));
    // Tags of 8 bytes: the first is the route.
    let two_tags = "fe00001208".to_owned() + &hex_of(b"geo/Last") + "08" + &hex_of(b"geo/Near");
    let named =
        "1b".to_owned() + &hex_of(b"message/x.rsocket.routing.v0") + "00000908" + &hex_of(b"geo/Last");
    [two_tags, named].into_iter().fold(case, request)
}

fn hostile_requests() -> Case {
    let last = hex(json!([{"route": "geo/Last"}]));
    let malformed = [
        String::new(),
        hex(json!([{"left_ms": 60_000}])),
        hex(json!([{"route": ""}])),
        hex(json!([{"route": "geo/Lost"}])),
        hex(json!([{"route": "geo/last"}])),
        hex(json!([{"route": "Last"}])),
        "fe".to_owned(),
        "fe0000".to_owned(),
        "fe000000".to_owned(),
        "fe00000a0867656f2f4c617374".to_owned(),
        "fe0000090967656f2f4c617374".to_owned(),
        "fe0000090867656f2f4c6173ff".to_owned(),
        format!("05{last}"),
        format!("fe000000{last}"),
        format!("{last}fe"),
        format!("{last}8500ffff"),
        format!("{last}fc00000180"),
        format!("{last}fc000000"),
        format!("{last}fc0000038000ff"),
        format!("{last}fc00000381ff61"),
        "67656f2f4c617374".to_owned(),
    ];
    let case = Case::new("metadata that is malformed or names no route: entries before the fault hold");
    let case = malformed.into_iter().fold(case, request);
    let near = hex(json!([{"route": "geo/Near"}]));
    case.entry("request", json!({"metadata_hex": near}))
        .entry("request", json!({"metadata_hex": last, "interaction": "stream"}))
        .entry("request", json!({"metadata_hex": last, "data_hex": "ff"}))
        .entry("request", json!({"metadata_hex": last, "data_hex": "0a0161"}))
}

fn deadlines() -> Case {
    let last = hex(json!([{"route": "geo/Last"}]));
    let of = |left_ms: u32| last.clone() + &hex(json!([{"left_ms": left_ms}]));
    let content = |content_hex: &str| {
        let mime = "message/x.stadium.deadline.v1";
        last.clone() + &hex(json!([{"other": {"mime": mime, "content_hex": content_hex}}]))
    };
    let metadata = [
        of(0),
        of(60_000),
        of(600_000),
        of(600_001),
        of(u32::MAX),
        content(""),
        content("00ea60"),
        content("000000ea60"),
        of(60_000) + &hex(json!([{"left_ms": 70_000}])),
        of(60_000) + &content("00")[last.len()..],
    ];
    let case =
        Case::new("the time that is left: absent or malformed is the default, and the last entry counts");
    metadata.into_iter().fold(case, request)
}

fn bare_routes() -> Case {
    let case = Case::new("SETUP announces the routing type, and metadata is the content of a routing entry");
    let case = case.config(json!({"metadata_mime": "message/x.rsocket.routing.v0"}));
    let composite = hex(json!([{"route": "geo/Last"}]));
    ["0867656f2f4c617374", "", "0967656f2f4c617374", "0067656f", "0867656f2f4c61737408", &composite]
        .into_iter()
        .fold(case, |case, metadata| request(case, metadata.to_owned()))
}

fn pushes() -> Case {
    let push = |content_hex: &str| {
        hex(json!([{"other": {"mime": "message/x.stadium.load.v1", "content_hex": content_hex}}]))
    };
    let contents = [
        "0000000000",
        "3f40000001",
        "3f40000002",
        "bf80000000",
        "42c8000000",
        "42ca000000",
        "7fc0000000",
        "7f80000000",
        "ff80000001",
        "3f400000",
        "3f4000000000",
        "",
    ];
    let case = Case::new("a load factor is between 0 and 100, and 1 alone is quiescing");
    let case = case.each(contents, |case, content| case.entry("load", json!({"hex": push(content)})));
    let behind = hex(json!([{"peer": true}])) + &push("3f00000000");
    let twice = push("3f00000000") + &push("3f80000000");
    [String::new(), behind, twice].into_iter().fold(case, |case, hex| case.entry("load", json!({"hex": hex})))
}

fn setups() -> Case {
    let case = Case::new("a client that understands pushes of load says so in SETUP");
    let peer = hex(json!([{"peer": true}]));
    let more = hex(json!([{"bearer": "secret"}, {"peer": true}]));
    let filled = hex(json!([{"other": {"mime": "message/x.stadium.peer.v1", "content_hex": "01"}}]));
    let behind_a_fault = format!("fe0000ff{peer}");
    ["".to_owned(), peer, more, filled, behind_a_fault, hex(json!([{"bearer": "secret"}]))]
        .into_iter()
        .fold(case, |case, hex| case.entry("setup", json!({"hex": hex})))
}
