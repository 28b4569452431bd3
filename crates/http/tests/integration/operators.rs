//! The console's requests to the API: searches, the texts of one device, this process and its history.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::work::post;
use crate::support::{Answer, Fixture};

/// Thirty phones, of which every third is revoked.
fn scene() -> Fixture {
    let fixture = Fixture::with_queues();
    let phone = |n: u32| {
        json!({"device": format!("phone-{n:02}"), "platform": "ios", "tags": ["loyalty:gold"],
               "named_user": format!("Ada-{}", n / 10), "attributes": {"name": format!("Eva {n}"), "score": n}})
    };
    post(&fixture, "/api/apps/default/devices", json!({"devices": (0..30).map(phone).collect::<Vec<_>>()}));
    for n in (0..30).step_by(3) {
        post(&fixture, &format!("/api/apps/default/devices/phone-{n:02}/revoke"), json!({}));
    }
    fixture
}

/// Asks with a key that holds these grants alone.
fn with_grants(fixture: &Fixture, grants: &[&str], method: &str, path: &str, body: Option<&str>) -> Answer {
    let made = post(fixture, "/api/keys", json!({"name": "narrow", "grants": grants}));
    let bearer = format!("Bearer {}", made["secret"].as_str().expect("a secret"));
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    fixture.ask(method, path, &headers, body)
}

fn ids(answer: &Value, list: &str, field: &str) -> Vec<String> {
    let each = answer[list].as_array().expect("a list").iter();
    each.map(|one| one[field].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn devices_are_found_by_any_part_of_their_texts_and_by_their_state() {
    let fixture = scene();
    let found = |query: &str| {
        let answer = fixture.get(&format!("/api/apps/default/devices?{query}"));
        assert_eq!(answer.status, 200, "{}", answer.text);
        ids(&answer.json(), "devices", "device")
    };
    assert_eq!(found("search=one-2").len(), 10, "a part of the id");
    assert_eq!(found("search=EVA%207"), ["phone-07"], "an attribute, in any case");
    assert_eq!(found("search=ada-1").len(), 10, "a named user");
    assert_eq!(found("search=TY:GO").len(), 30, "a tag with its group");
    assert_eq!(found("search=score").len(), 0, "names of attributes are none of its texts");
    assert_eq!(found("state=revoked").len(), 10);
    assert_eq!(
        found("state=away&search=ada-0&prefix=phone-0"),
        ["01", "02", "04", "05", "07", "08"].map(|n| format!("phone-{n}"))
    );
    let first = fixture.get("/api/apps/default/devices?state=revoked&limit=4").json();
    let next = first["next"].as_str().expect("there are more");
    assert_eq!(next, "phone-09", "the last one that was looked at");
    assert_eq!(found(&format!("state=revoked&limit=4&after={next}"))[0], "phone-12");
    assert_eq!(fixture.get("/api/apps/default/devices?search=nobody").json()["next"], Value::Null);
    fixture.get("/api/apps/default/devices?state=asleep").problem(400, "HTTP-017");
}

#[test]
fn pushes_are_found_by_title_and_state_and_a_title_that_is_not_shown_is_not_searched() {
    let fixture = scene();
    let tomorrow = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24);
    for (title, when) in [("Doors open", None), ("Doors close", Some(tomorrow.to_string()))] {
        let mut push =
            json!({"audience": {"tag": "gold", "group": "loyalty"}, "notification": {"title": title}});
        if let Some(at) = when {
            push["when"] = json!({"at": at});
        }
        post(&fixture, "/api/apps/default/pushes", push);
    }
    let path = "/api/apps/default/pushes?search=DOORS";
    assert_eq!(fixture.get(path).json()["pushes"].as_array().map(Vec::len), Some(2));
    let scheduled = fixture.get(&format!("{path}&status=scheduled")).json();
    assert_eq!(ids(&scheduled, "pushes", "title"), ["Doors close"]);
    let by_audience = fixture.get("/api/apps/default/pushes?search=loyalty&limit=1").json();
    assert_eq!(ids(&by_audience, "pushes", "title"), ["Doors close"]);
    let before = by_audience["next"].as_str().expect("there is another").replace('/', "%2F");
    let older = fixture.get(&format!("/api/apps/default/pushes?search=loyalty&before={before}")).json();
    assert_eq!(ids(&older, "pushes", "title"), ["Doors open"]);
    let blind = with_grants(&fixture, &["push.read:default"], "GET", path, None).json();
    assert_eq!(blind["pushes"].as_array().map(Vec::len), Some(0), "{blind}");
    fixture.get("/api/apps/default/pushes?status=lost").problem(400, "HTTP-017");
}

#[test]
fn a_dry_run_shows_the_texts_of_a_device_to_those_who_may_read_it() {
    let fixture = scene();
    let path = "/api/apps/default/pushes?dry_run=true&device=phone-07";
    let body = r#"{"audience": "all", "notification": {"title": "Hi {{name}}, {{device}}", "body": "{{score}} {{gate|main}}",
                   "data": {"name": "{{name}}"}, "platforms": {"android": {"title": "none"}}}}"#;
    let rendered = fixture.post(path, body).json()["rendered"].clone();
    assert_eq!(
        rendered,
        json!({"device": "phone-07", "title": "Hi Eva 7, phone-07", "body": "7 main", "data": {"name": "Eva 7"}})
    );
    let lacking = r#"{"audience": "all", "notification": {"title": "{{gate}}"}}"#;
    assert_eq!(fixture.post(path, lacking).json()["rendered"]["missing"], "gate");
    assert_eq!(fixture.post("/api/apps/default/pushes?dry_run=true", body).json().get("rendered"), None);
    fixture.post("/api/apps/default/pushes?device=phone-07", body).problem(400, "HTTP-017");
    fixture.post("/api/apps/default/pushes?dry_run=true&device=nobody", body).problem(404, "PSH-022");
    with_grants(&fixture, &["push.send:default"], "POST", path, Some(body)).problem(403, "HTTP-003");
    let both = ["push.send:default", "device.read:default/phone-07"];
    assert_eq!(with_grants(&fixture, &both, "POST", path, Some(body)).status, 200);
}

#[test]
fn the_audit_log_is_searched_and_paged() {
    let fixture = scene();
    let found = |query: &str| ids(&fixture.get(&format!("/api/audit?{query}")).json(), "entries", "path");
    let revoked = found("search=REVOKE&limit=3");
    assert_eq!(revoked, ["27", "24", "21"].map(|n| format!("/api/apps/default/devices/phone-{n}/revoke")));
    assert_eq!(found("search=revoke&limit=3&skip=3")[0], "/api/apps/default/devices/phone-18/revoke");
    assert_eq!(found("search=revoke&skip=10").len(), 0);
    fixture.get("/api/audit?outcome=lost").problem(400, "HTTP-017");
    fixture.post("/api/apps/default/devices/nobody/revoke", "{}").problem(404, "PSH-022");
    assert_eq!(found("outcome=refused"), ["/api/apps/default/devices/nobody/revoke"]);
    assert_eq!(found("search=revoke&outcome=made").len(), 10);
    assert_eq!(found("limit=1&skip=2")[0], "/api/apps/default/devices/phone-24/revoke");
}

#[test]
fn a_viewer_sees_the_node_and_its_history_and_an_operator_the_configuration() {
    let fixture = scene();
    let node = with_grants(&fixture, &["node.read"], "GET", "/api/node", None).json();
    assert_eq!(
        (node["state"].as_str(), node["shards"].as_array().map(Vec::len)),
        (Some("ready"), Some(2)),
        "{node}"
    );
    assert_eq!(node["cluster"], Value::Null);
    let services = with_grants(&fixture, &["node.read"], "GET", "/api/services", None).json();
    assert_eq!(services["requests"]["in_flight"], 0, "{services}");
    let history = with_grants(&fixture, &["node.read"], "GET", "/api/history?span=day", None).json();
    assert_eq!((&history["step_s"], &history["points_max"]), (&json!(60), &json!(1_440)));
    with_grants(&fixture, &["node.read"], "GET", "/api/history?span=year", None).problem(400, "HTTP-017");
    with_grants(&fixture, &["node.read"], "GET", "/api/configuration", None).problem(403, "HTTP-003");
    let settings = with_grants(&fixture, &["node.operate"], "GET", "/api/configuration", None).json();
    assert_eq!(settings["settings"], json!([]), "a node says them: the suite of the console reads them");
    // The first point comes after ten seconds.
    let deadline = Instant::now() + Duration::from_secs(30);
    while fixture.get("/api/history").json()["points"][0]["at_ms"].is_null() {
        assert!(Instant::now() < deadline, "no point in 30 seconds");
        std::thread::yield_now();
    }
}
