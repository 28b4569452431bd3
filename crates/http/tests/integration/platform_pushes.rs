//! Pushes of the platform as a client sees them: handed over, looked at, changed, cancelled, traced, scheduled; by real shards.
//!
//! Nobody is connected here, so pushes are owed until they expire; deliveries to real devices are
//! the node's suites.

use crate::support;

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};
use support::work::post;
use support::{Fixture, eventually};

const PUSHES: &str = "/api/apps/default/pushes";

/// A server with phones 0 to 9, the even ones with the tag `vip`, the last one not opted in.
fn fleet_scene() -> Fixture {
    let fixture = Fixture::with_queues();
    let phone = |n: u32| {
        let tags = if n.is_multiple_of(2) { json!(["vip"]) } else { json!([]) };
        json!({"device": format!("phone-{n}"), "tags": tags, "attributes": {"name": format!("Fan {n}")}, "opt_in": n != 9})
    };
    let phones: Vec<Value> = (0..10).map(phone).collect();
    post(&fixture, "/api/apps/default/devices", json!({"devices": phones}));
    fixture
}

/// Hands a push over and returns its id.
fn send(fixture: &Fixture, body: Value) -> String {
    let answer = fixture.post(PUSHES, &body.to_string());
    assert_eq!(answer.status, 202, "{}", answer.text);
    let id = answer.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(answer.header("location"), Some(format!("{PUSHES}/{id}").as_str()));
    id
}

#[test]
fn a_push_is_accepted_once_and_owed_to_whom_it_is_for() {
    let fixture = fleet_scene();
    let body = json!({"audience": {"tag": "vip"}, "notification": {"title": "Hello {{name}}", "body": "Doors open at eight"}}).to_string();
    let key = [("idempotency-key", "match-17")];
    let first = fixture.post_with(PUSHES, &body, &key);
    assert_eq!(first.status, 202, "{}", first.text);
    let again = fixture.post_with(PUSHES, &body, &key);
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")), "{}", again.text);
    assert_eq!((&again.json()["duplicate"], &again.json()["id"]), (&true.into(), &first.json()["id"]));
    fixture.post_with(PUSHES, &body.replace("eight", "nine"), &key).problem(422, "PSH-025");

    let path = format!("{PUSHES}/{}", first.json()["id"].as_str().expect("an id"));
    let of = |name: &str| fixture.get(&path).json()["counts"][name].as_u64();
    eventually("every shard has it", || of("owed") == Some(5));
    let push = fixture.get(&path).json();
    assert_eq!((&push["status"], &push["title"]), (&"sending".into(), &"Hello {{name}}".into()));
    assert_eq!((&push["counts"]["devices"], &push["counts"]["targeted"]), (&10.into(), &5.into()), "{push}");
    assert_eq!(push["content"]["notification"]["body"], "Doors open at eight");
    let listed = fixture.get(PUSHES).json()["pushes"].clone();
    assert_eq!((listed.as_array().map(Vec::len), &listed[0]["id"]), (Some(1), &push["id"]));
    assert_eq!(listed[0]["content"], Value::Null, "one of many is shown without its content");

    let device = fixture.get("/api/apps/default/devices/phone-4").json();
    assert_eq!((&device["owed"], &device["inbox"][0]["push"]), (&1.into(), &push["id"]), "{device}");
    assert_eq!(device["newest"][0]["state"], "owed", "{device}");
}

#[test]
fn each_mistake_in_a_push_has_its_path() {
    let fixture = fleet_scene();
    let table = [
        (json!({"notification": {"title": "a"}}), "audience"),
        (json!({"audience": "all"}), "notification"),
        (json!({"audience": "everybody", "message": "a"}), "audience"),
        (json!({"audience": {"or": [{"tag": "a"}, {"tga": "b"}]}, "message": "a"}), "audience.or[1]"),
        (json!({"audience": {"device": "a/b"}, "message": "a"}), "audience.device"),
        (json!({"audience": "all", "message": "a", "notification": {"title": "b"}}), "message"),
        (json!({"audience": "all", "notification": {}}), "notification"),
        (json!({"audience": "all", "notification": {"tilte": "a"}}), "notification.tilte"),
        (json!({"audience": "all", "message": "a", "options": {"priority": 10}}), "options.priority"),
        (json!({"audience": "all", "message": "a", "options": {"expiry_s": 0}}), "options.expiry_s"),
        (
            json!({"audience": "all", "message": "a", "options": {"pace": {"per_second": 0}}}),
            "options.pace.per_second",
        ),
        (
            json!({"audience": "all", "message": "a", "options": {"holdout_percent": 91}}),
            "options.holdout_percent",
        ),
        (json!({"audience": "all", "message": "a", "when": {"at": "tomorrow"}}), "when.at"),
        (json!({"audience": "all", "message": "a", "when": {"local": "2030-01-01T20:00:00Z"}}), "when.local"),
        (json!({"audience": "all", "message": "a", "id": "17"}), "id"),
    ];
    for (body, path) in table {
        let problem = fixture.post(PUSHES, &body.to_string()).problem(422, "HTTP-005");
        assert!(problem["path"].as_str().is_some_and(|at| at.starts_with(path)), "{body}: {problem}");
    }
    assert_eq!(fixture.get(PUSHES).json()["pushes"], json!([]));
    fixture.get(&format!("{PUSHES}/17")).problem(422, "HTTP-028");
    fixture.get(&format!("{PUSHES}/0190a1b2c3d47e5f8a9b0c1d2e3f4a5b")).problem(404, "PSH-021");
    fixture.post(PUSHES, r#"{"audience": {"saved": "nobody"}, "message": "a"}"#).problem(404, "PSH-023");
    let large = json!({"audience": "all", "message": "x".repeat(70 << 10)});
    let problem = fixture.post(PUSHES, &large.to_string()).problem(422, "PSH-003");
    assert!(
        problem["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("65536") || detail.contains("65,536")),
        "{problem}"
    );
}

#[test]
fn a_dry_run_checks_and_counts_and_pushes_nothing() {
    let fixture = fleet_scene();
    let path = format!("{PUSHES}?dry_run=true");
    let body = json!({"audience": {"not": {"tag": "vip"}}, "notification": {"title": "a"}, "options": {"pace": {"over_s": 60}}});
    let answer = fixture.post(&path, &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text);
    let report = answer.json();
    assert_eq!((&report["status"], &report["preview"]["reached"]), (&"valid".into(), &4.into()), "{report}");
    assert_eq!(report["preview"]["expected_s"], 60.0);
    fixture
        .post(&path, r#"{"audience": "all", "notification": {"title": "{{name"}}"#)
        .problem(422, "PSH-004");
    assert_eq!(fixture.get(PUSHES).json()["pushes"], json!([]));
}

#[test]
fn a_dry_run_counts_devices_without_a_value_and_warns_where_nobody_is_reached() {
    let fixture = fleet_scene();
    let dry = |audience: Value, title: &str| {
        let body = json!({"audience": audience, "notification": {"title": title}});
        let answer = fixture.post(&format!("{PUSHES}?dry_run=true"), &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()["preview"].clone()
    };
    // Nobody has a nickname, and phone-9 is not opted in.
    let preview = dry(json!("all"), "Hello {{nickname}}");
    assert_eq!((&preview["matched"], &preview["reached"]), (&10.into(), &0.into()), "{preview}");
    assert_eq!(preview["missing_values"], json!([{"name": "nickname", "devices": 9}]));
    let warning =
        "it would reach nobody: of 10 devices that match, 9 lack a value for `nickname`, 1 are not opted in";
    assert_eq!(preview["warning"], warning);
    // One has one by now.
    post(
        &fixture,
        "/api/apps/default/devices",
        json!({"devices": [{"device": "phone-2", "attributes": {"nickname": "Bo"}}]}),
    );
    let preview = dry(json!("all"), "Hello {{nickname}}");
    assert_eq!((&preview["no_value"], &preview["reached"]), (&8.into(), &1.into()), "{preview}");
    assert_eq!((&preview["sample"], preview.get("warning")), (&json!(["phone-2"]), None), "{preview}");
    assert_eq!(dry(json!("all"), "Hello {{nickname|fan}}")["reached"], 9);
    let preview = dry(json!({"tag": "nobody"}), "Hello");
    assert_eq!(preview["warning"], "it would reach nobody: none of 10 registered devices matches");
    let counted =
        post(&fixture, "/api/apps/default/audiences/preview", json!({"audience": {"tag": "nobody"}}));
    assert_eq!(counted["warning"], preview["warning"], "{counted}");
}

#[test]
fn one_that_waits_is_edited_and_cancelled() {
    let fixture = fleet_scene();
    let at = next_year(&fixture);
    let waits = json!({"audience": "all", "notification": {"title": "a"}, "when": {"at": at}, "options": {"priority": 7}});
    let path = format!("{PUSHES}/{}", send(&fixture, waits));
    let edited = fixture.send(
        "PATCH",
        &path,
        r#"{"notification": {"title": "b"}, "options": {"collapse_key": "score"}}"#,
    );
    assert_eq!(edited.status, 200, "{}", edited.text);
    let push = edited.json();
    assert_eq!((&push["status"], &push["title"]), (&"scheduled".into(), &"b".into()));
    assert_eq!(
        (&push["options"]["priority"], &push["options"]["collapse_key"]),
        (&7.into(), &"score".into())
    );
    assert_eq!(push["when"], json!({"at": at}));
    let cancelled = post(&fixture, &format!("{path}/cancel"), json!({}));
    assert_eq!(cancelled["status"], "cancelled", "{cancelled}");
    let again = fixture.send("PATCH", &path, r#"{"notification": {"title": "c"}}"#);
    assert_eq!(again.status, 409, "it is over: {}", again.text);
}

/// A time in a year, by the server's own clock.
fn next_year(fixture: &Fixture) -> String {
    let device = fixture.get("/api/apps/default/devices/phone-0").json();
    let now = device["registered_at"].as_str().expect("a timestamp").to_owned();
    let year: u32 = now[..4].parse().expect("a year");
    let day = if &now[5..10] == "02-29" { "02-28" } else { &now[5..10] };
    format!("{}-{day}T00:00:00.000Z", year + 1)
}

#[test]
fn a_trace_has_the_reason_and_deliveries_are_exported() {
    let fixture = fleet_scene();
    let id = send(&fixture, json!({"audience": {"tag": "vip"}, "message": {"score": [1, 0]}}));
    let path = format!("{PUSHES}/{id}");
    eventually("every shard has it", || fixture.get(&path).json()["counts"]["owed"] == 5);
    let trace = fixture.get(&format!("{path}/devices/phone-4")).json();
    assert_eq!((&trace["state"], &trace["device"]), (&"owed".into(), &"phone-4".into()), "{trace}");
    assert!(trace["sentence"].as_str().is_some_and(|text| text.contains("phone-4")), "{trace}");
    let left_out = fixture.get(&format!("{path}/devices/phone-3")).json();
    assert_eq!(left_out["state"], "not_matched", "{left_out}");
    assert!(left_out["sentence"].as_str().is_some_and(|text| text.contains("vip")), "{left_out}");
    let opened = fixture.post(&format!("{path}/opened"), r#"{"device": "phone-4"}"#);
    assert!([204, 409].contains(&opened.status), "{}", opened.text);
    let click = |device: &str| {
        fixture.post(&format!("{path}/clicked"), &json!({"device": device, "action": "buy"}).to_string())
    };
    click("phone-3").problem(409, "PSH-028");
    assert_eq!(click("phone-4").status, 204);
    let report = fixture.get(&path).json();
    assert_eq!(report["actions"], json!([{"action": "buy", "clicks": 1}]), "{report}");

    let page = fixture.get(&format!("{path}/deliveries?limit=2")).json();
    assert_eq!(page["deliveries"].as_array().map(Vec::len), Some(2), "{page}");
    let csv = fixture.get(&format!("{path}/deliveries?format=csv"));
    let lines: Vec<_> = csv.text.lines().collect();
    assert_eq!(lines[0], "device,state,detail,sent_at,acknowledged_at");
    assert!(lines.iter().any(|line| line.starts_with("phone-0,owed")), "{}", csv.text);
}

#[test]
fn a_push_is_watched_until_it_is_over() {
    let fixture = fleet_scene();
    let id = send(&fixture, json!({"audience": {"tag": "vip"}, "message": "a"}));
    let mut socket = std::net::TcpStream::connect(fixture.address).expect("it listens");
    socket.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a socket option");
    write!(
        socket,
        "GET {PUSHES}/{id}/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        fixture.admin
    )
    .expect("it takes requests");
    let mut lines = BufReader::new(socket).lines().map_while(Result::ok);
    let push =
        |line: &String| line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok());
    let first = lines.by_ref().find_map(|line| push(&line)).expect("an event");
    assert_eq!(first["status"], "sending", "{first}");
    post(&fixture, &format!("{PUSHES}/{id}/cancel"), json!({}));
    let events: Vec<Value> = lines.filter_map(|line| push(&line)).collect();
    let last = events.last().expect("the last word");
    assert_eq!(last["status"], "cancelled", "{last}");
}

#[test]
fn a_schedule_is_set_paused_resumed_and_ended() {
    let fixture = fleet_scene();
    let path = "/api/apps/default/schedules/morning";
    let body = json!({"cron": "0 9 * * MON-FRI", "time_zone": "Europe/Berlin", "missed": {"late_s": 3600},
                      "push": {"audience": {"tag": "vip"}, "notification": {"title": "Good morning"}}});
    let made = fixture.put(path, &body.to_string());
    assert_eq!(made.status, 200, "{}", made.text);
    let schedule = made.json();
    assert_eq!((&schedule["time_zone"], &schedule["paused"]), (&"Europe/Berlin".into(), &false.into()));
    assert_eq!(
        (&schedule["missed"], &schedule["push"]["notification"]["title"]),
        (&json!({"late_s": 3_600}), &"Good morning".into())
    );
    assert_eq!(schedule["next"].as_array().map(Vec::len), Some(5), "{schedule}");
    assert_eq!(fixture.post(&format!("{path}/pause"), "").status, 204);
    assert_eq!(fixture.get("/api/apps/default/schedules").json()["schedules"][0]["paused"], true);
    assert_eq!(fixture.post(&format!("{path}/resume"), "").status, 204);
    let mut wrong = body.clone();
    wrong["cron"] = "at nine".into();
    fixture.put(path, &wrong.to_string()).problem(422, "PSH-006");
    wrong = body.clone();
    wrong["push"]["audience"] = json!({"tga": "vip"});
    let problem = fixture.put(path, &wrong.to_string()).problem(422, "HTTP-005");
    assert!(problem["path"].as_str().is_some_and(|at| at.starts_with("push.audience")), "{problem}");
    wrong = body.clone();
    wrong["push"]["id"] = "0190a1b2c3d47e5f8a9b0c1d2e3f4a5b".into();
    assert_eq!(fixture.put(path, &wrong.to_string()).problem(422, "HTTP-005")["path"], "push.id");
    assert_eq!(fixture.delete(path).status, 204);
    fixture.delete(path).problem(404, "PSH-024");
}
