//! A device that acts for itself over HTTP: its token, and the endpoints below `/api/me`.
//!
//! Each request is made with the token of one device; another device's data stay as they were.

use serde_json::{Value, json};

use crate::support::{Answer, Fixture};

const DEVICES: &str = "/api/apps/shop/devices";

/// An app whose devices may change a few things, with two of them.
fn shop() -> Fixture {
    let fixture = Fixture::with_queues();
    let writable = json!({"device_writable": {"tags": ["news-*"], "attributes": ["language"]}});
    assert_eq!(fixture.put("/api/apps/shop", &writable.to_string()).status, 200);
    for device in ["mine", "theirs"] {
        assert_eq!(fixture.put(&format!("{DEVICES}/{device}"), "{}").status, 201);
    }
    fixture
}

fn token(fixture: &Fixture, device: &str) -> String {
    let made = fixture.post(&format!("{DEVICES}/{device}/token"), r#"{"expires_in_s": 60}"#);
    assert_eq!(made.status, 201, "{}", made.text);
    format!("Bearer {}", made.json()["token"].as_str().expect("text"))
}

fn ask(fixture: &Fixture, method: &str, path: &str, token: &str, body: &Value) -> Answer {
    let headers = [("authorization", token), ("content-type", "application/json")];
    fixture.ask(method, path, &headers, (method != "GET").then(|| body.to_string()).as_deref())
}

fn known(fixture: &Fixture, device: &str) -> Value {
    fixture.get(&format!("{DEVICES}/{device}")).json()
}

fn push(fixture: &Fixture, device: &str) -> String {
    let push = json!({"audience": {"device": device}, "message": "hello"});
    let sent = fixture.post("/api/apps/shop/pushes", &push.to_string());
    assert_eq!(sent.status, 202, "{}", sent.text);
    sent.json()["id"].as_str().expect("text").to_owned()
}

#[test]
fn a_device_changes_itself_as_its_app_lets_it_and_no_other_one() {
    let fixture = shop();
    let mine = token(&fixture, "mine");
    let change = |body: Value| ask(&fixture, "PATCH", "/api/me/device", &mine, &body);
    change(json!({"tags": {"add": ["news-local", "vip"]}, "opted_in": false})).problem(403, "PSH-033");
    let wrong = change(json!({"revoked": true})).problem(422, "HTTP-005");
    assert_eq!(wrong["path"], "revoked", "{wrong}");
    change(json!({})).problem(422, "HTTP-005");
    change(json!({"device": "theirs", "opted_in": false})).problem(422, "HTTP-005");
    assert_eq!(known(&fixture, "mine")["opt_in"], true);

    let body = json!({"tags": {"add": ["news-local"]}, "attributes": {"language": "de"}, "opted_in": false});
    assert_eq!(change(body).status, 204);
    let seen = ask(&fixture, "GET", "/api/me/device", &mine, &Value::Null).json();
    let expected = json!({"app": "shop", "device": "mine", "opted_in": false, "tags": ["news-local"],
                          "attributes": {"language": "de"}});
    assert_eq!(seen, expected);
    let other = known(&fixture, "theirs");
    assert_eq!((&other["opt_in"], &other["tags"]), (&json!(true), &json!([])));
}

#[test]
fn a_device_reports_opened_and_reads_its_inbox_alone() {
    let fixture = shop();
    let (mine, theirs) = (token(&fixture, "mine"), token(&fixture, "theirs"));
    let id = push(&fixture, "mine");
    let inbox = |token: &str| ask(&fixture, "GET", "/api/me/inbox", token, &Value::Null).json();
    assert_eq!(inbox(&mine)["inbox"][0]["push"], id.as_str());
    assert_eq!(inbox(&theirs), json!({"inbox": [], "next": null}));

    let opened = |token: &str| ask(&fixture, "POST", "/api/me/opened", token, &json!({"push": id}));
    let count = || fixture.get(&format!("/api/apps/shop/pushes/{id}")).json()["counts"]["opened"].clone();
    opened(&theirs).problem(409, "PSH-028");
    assert_eq!(count(), 0);
    assert_eq!(opened(&mine).status, 204);
    assert_eq!(opened(&mine).status, 204);
    assert_eq!(count(), 1);
}

#[test]
fn a_device_reports_a_click_once_and_of_its_own_pushes_alone() {
    let fixture = shop();
    let (mine, theirs) = (token(&fixture, "mine"), token(&fixture, "theirs"));
    let id = push(&fixture, "mine");
    let click = |token: &str, body: Value| ask(&fixture, "POST", "/api/me/clicked", token, &body);
    let report = || fixture.get(&format!("/api/apps/shop/pushes/{id}")).json();
    click(&theirs, json!({"push": id, "action": "buy"})).problem(409, "PSH-028");
    click(&mine, json!({"push": "0".repeat(32)})).problem(404, "PSH-021");
    for (body, path) in [
        (json!({"push": id, "action": "x".repeat(65)}), "action"),
        (json!({"push": id, "action": ""}), "action"),
        (json!({"push": id, "action": "a\u{7}b"}), "action"),
        (json!({"push": "x"}), "push"),
    ] {
        assert_eq!(click(&mine, body).problem(422, "HTTP-005")["path"], path);
    }
    assert_eq!((&report()["counts"]["opened"], &report()["counts"]["clicked"]), (&json!(0), &json!(0)));

    let longest = "x".repeat(64);
    for action in [json!(longest), json!("later"), Value::Null] {
        assert_eq!(click(&mine, json!({"push": id, "action": action})).status, 204);
    }
    let report = report();
    assert_eq!((&report["counts"]["opened"], &report["counts"]["clicked"]), (&json!(1), &json!(1)));
    assert_eq!(report["actions"], json!([{"action": longest, "clicks": 1}]));
    let trace = fixture.get(&format!("/api/apps/shop/pushes/{id}/devices/mine")).json();
    assert_eq!(trace["state"], "clicked", "{trace}");
    let steps = trace["steps"].as_array().expect("a list");
    let last: Vec<_> = steps[steps.len() - 2..].iter().map(|step| (&step["what"], &step["action"])).collect();
    assert_eq!(last, [(&json!("opened"), &Value::Null), (&json!("clicked"), &json!(longest))], "{trace}");
}

#[test]
fn a_click_on_a_push_that_was_cancelled_or_dropped_with_its_app_is_refused() {
    let fixture = shop();
    let mine = token(&fixture, "mine");
    let id = push(&fixture, "mine");
    let click = || ask(&fixture, "POST", "/api/me/clicked", &mine, &json!({"push": id}));
    assert_eq!(fixture.post(&format!("/api/apps/shop/pushes/{id}/cancel"), "{}").status, 200);
    click().problem(409, "PSH-028");
    assert_eq!(fixture.delete("/api/apps/shop").status, 204);
    click().problem(404, "PSH-020");
}

#[test]
fn a_device_reads_its_inbox_by_pages_and_settles_its_own_pushes_alone() {
    let fixture = shop();
    let (mine, theirs) = (token(&fixture, "mine"), token(&fixture, "theirs"));
    let pushes: Vec<String> = (0..3).map(|_| push(&fixture, "mine")).collect();
    let of_other = push(&fixture, "theirs");
    let inbox = |token: &str, query: &str| {
        ask(&fixture, "GET", &format!("/api/me/inbox{query}"), token, &Value::Null)
    };
    let settle = |token: &str, body: Value| ask(&fixture, "POST", "/api/me/inbox/settle", token, &body);
    let count = |id: &str| fixture.get(&format!("/api/apps/shop/pushes/{id}")).json()["counts"].clone();

    let first = inbox(&mine, "?limit=2").json();
    let shown: Vec<_> = first["inbox"].as_array().expect("a list").iter().map(|one| &one["push"]).collect();
    assert_eq!(shown, [&json!(pushes[0]), &json!(pushes[1])], "{first}");
    assert_eq!((&first["inbox"][0]["message"], &first["next"]), (&json!("hello"), &json!(pushes[1])));
    let last = inbox(&mine, &format!("?after={}", pushes[1])).json();
    assert_eq!((&last["inbox"][0]["push"], &last["next"]), (&json!(pushes[2]), &Value::Null), "{last}");

    let refused = settle(&theirs, json!({"pushes": [pushes[0]]})).json();
    assert_eq!(refused, json!({"settled": [], "not_owed": [pushes[0]]}));
    assert_eq!(count(&pushes[0])["delivered"], 0);
    let unknown = "0".repeat(32);
    let settled = settle(&mine, json!({"pushes": [pushes[0], of_other, unknown]})).json();
    assert_eq!(settled, json!({"settled": [pushes[0]], "not_owed": [of_other, unknown]}));
    assert_eq!((&count(&pushes[0])["delivered"], &count(&of_other)["delivered"]), (&json!(1), &json!(0)));
    let again = settle(&mine, json!({"pushes": [pushes[0]]})).json();
    assert_eq!(again, json!({"settled": [], "not_owed": [pushes[0]]}));
    assert_eq!(inbox(&mine, "").json()["inbox"][0]["push"], json!(pushes[1]));
}

#[test]
fn requests_for_an_inbox_are_bounded() {
    let fixture = shop();
    let (mine, theirs) = (token(&fixture, "mine"), token(&fixture, "theirs"));
    let of_other = push(&fixture, "theirs");
    for query in ["limit=0", "limit=101", "after=x", "device=theirs"] {
        ask(&fixture, "GET", &format!("/api/me/inbox?{query}"), &mine, &Value::Null).problem(400, "HTTP-017");
    }
    let path = format!("/api/me/inbox?after={of_other}");
    ask(&fixture, "GET", &path, &mine, &Value::Null).problem(404, "PSH-021");
    for pushes in [json!([]), json!(vec!["0".repeat(32); 101]), json!(["x"]), json!([1])] {
        let body = json!({"pushes": pushes});
        assert_eq!(ask(&fixture, "POST", "/api/me/inbox/settle", &theirs, &body).status, 422);
    }
}

#[test]
fn tokens_of_a_revoked_or_removed_device_stop() {
    let fixture = shop();
    let (mine, theirs) = (token(&fixture, "mine"), token(&fixture, "theirs"));
    let asked = |token: &str, code: &str, status: u16| {
        for (method, path, body) in [
            ("GET", "/api/me/device", Value::Null),
            ("GET", "/api/me/inbox", Value::Null),
            ("PATCH", "/api/me/device", json!({"opted_in": false})),
            ("POST", "/api/me/opened", json!({"push": "0".repeat(32)})),
            ("POST", "/api/me/clicked", json!({"push": "0".repeat(32)})),
            ("POST", "/api/me/inbox/settle", json!({"pushes": ["0".repeat(32)]})),
        ] {
            ask(&fixture, method, path, token, &body).problem(status, code);
        }
    };
    assert_eq!(fixture.post(&format!("{DEVICES}/mine/revoke"), "{}").status, 204);
    asked(&mine, "PSH-032", 403);
    assert_eq!(known(&fixture, "mine")["opt_in"], true);
    fixture.post(&format!("{DEVICES}/mine/token"), "{}").problem(403, "PSH-032");
    assert_eq!(fixture.delete(&format!("{DEVICES}/theirs")).status, 204);
    asked(&theirs, "PSH-022", 404);
    fixture.post(&format!("{DEVICES}/theirs/token"), "{}").problem(404, "PSH-022");
}

#[test]
fn a_token_lasts_as_long_as_was_asked_within_a_minute_and_a_day() {
    let fixture = shop();
    let path = format!("{DEVICES}/mine/token");
    for seconds in [0, 59, 86_401] {
        let body = json!({"expires_in_s": seconds}).to_string();
        let wrong = fixture.post(&path, &body).problem(422, "HTTP-005");
        assert_eq!(wrong["path"], "expires_in_s");
    }
    for body in ["{}", r#"{"expires_in_s": 86400}"#] {
        assert_eq!(fixture.post(&path, body).status, 201);
    }
}

#[test]
fn requests_of_a_device_are_bounded() {
    let fixture = shop();
    let (mine, theirs) = (token(&fixture, "mine"), token(&fixture, "theirs"));
    let ask = |token: &str| ask(&fixture, "GET", "/api/me/device", token, &Value::Null);
    // Of 21 requests within two seconds of the clock one is over the bound; a slow machine asks
    // again.
    let refused = (0..2_000).map(|_| ask(&mine)).find(|answer| answer.status != 200);
    let refused = refused.expect("more than ten a second are not taken");
    refused.problem(429, "HTTP-031");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(ask(&theirs).status, 200);
}
