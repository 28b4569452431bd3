//! The API as a client sees it: every endpoint over a real socket, answered by the fleet in memory.
//!
//! Behaviour of connections at the port (slow, too many, given away) is in tests/connections.rs;
//! the page in tests/live_page.rs.

use crate::support;

use std::time::Duration;

use stadium_http::fleet::{Readiness, Refusal};
use stadium_push::live::{Away, ChannelName, LiveAudience, Qos};
use support::{Fixture, device};

#[test]
fn push_to_everybody_is_accepted_and_can_be_followed() {
    let fixture = Fixture::begin();
    fixture.fleet.connect(&device("a"), &["everybody"]);
    fixture.fleet.connect(&device("b"), &["everybody"]);
    fixture.fleet.disconnect(&device("b"));

    let answer = fixture.post("/api/push", r#"{"to": "everybody", "message": "doors open"}"#);
    assert_eq!(answer.status, 202, "{}", answer.text);
    let accepted = answer.json();
    assert_eq!(accepted["status"], "accepted");
    let url = accepted["url"].as_str().expect("a link");
    assert_eq!(answer.header("location"), Some(url));

    let report = fixture.get(url).json();
    assert_eq!(report["id"], accepted["id"]);
    assert_eq!(report["to"], "everybody");
    assert_eq!(
        (&report["targeted"], &report["sent"], &report["acknowledged"], &report["not_connected"]),
        (&2.into(), &1.into(), &1.into(), &1.into())
    );
    assert_eq!(report["status"], "settled");
    assert_eq!(report["last_acknowledged_ms"], 0.7);
    assert_eq!(report["acknowledged_latency"]["count"], 1);

    let list = fixture.get("/api/pushes?limit=1").json();
    assert_eq!(list["pushes"][0], report);
}

#[test]
fn every_audience_and_option_reaches_the_fleet_as_it_was_meant() {
    let fixture = Fixture::begin();
    for body in [
        r#"{"to": {"device": "d1"}, "message": "héllo", "qos": 0, "content_type": "text/plain"}"#,
        r#"{"to": {"devices": ["d1", "d2", "d1"]}, "message": {"b": 1.10, "a": [1, 2]}, "expiry_s": 60}"#,
        r#"{"to": {"channel": "news/sport"}, "message_base64": "AAH/", "user_properties": [{"name": "k", "value": "v"}]}"#,
    ] {
        assert_eq!(fixture.post("/api/push", body).status, 202, "{body}");
    }
    let pushes = fixture.fleet.accepted();
    let clients = |ids: &[&str]| LiveAudience::Clients(ids.iter().map(|id| device(id)).collect());
    let [first, second, third] = &pushes[..] else { panic!("{pushes:?}") };
    assert_eq!(first.push.to, clients(&["d1"]));
    assert_eq!(first.message.payload, "héllo".as_bytes());
    assert_eq!((first.push.qos, first.away), (Qos::AtMostOnce, Away::Queue(None)));
    assert_eq!(first.message.content_type.as_deref(), Some("text/plain"));

    assert_eq!(second.push.to, clients(&["d1", "d2"]), "named twice, pushed once");
    assert_eq!(second.message.payload, &br#"{"b": 1.10, "a": [1, 2]}"#[..], "JSON keeps its spelling");
    assert_eq!(second.message.content_type.as_deref(), Some("application/json"));
    assert_eq!((second.push.qos, second.away), (Qos::AtLeastOnce, Away::Queue(Some(60_000))));

    assert_eq!(third.push.to, LiveAudience::Channel(ChannelName::new("news/sport").expect("a name")));
    assert_eq!(third.message.payload, &[0, 1, 255][..]);
    assert_eq!(third.message.properties[0].0, "k");
}

#[test]
fn a_wrong_field_is_named_by_its_path() {
    let fixture = Fixture::begin();
    let table = [
        (r#"{"to": "everybody", "message": "x", "expirys": 3}"#, "expirys"),
        (r#"{"to": "nobody", "message": "x"}"#, "to"),
        (r#"{"to": {"devices": ["ok", ""]}, "message": "x"}"#, "to.devices[1]"),
        (r#"{"to": {"devices": []}, "message": "x"}"#, "to.devices"),
        (r#"{"to": {"device": "a+b"}, "message": "x"}"#, "to.device"),
        (r##"{"to": {"channel": "news/#"}, "message": "x"}"##, "to.channel"),
        (r#"{"to": "everybody", "message": "x", "qos": 2}"#, "qos"),
        (r#"{"to": "everybody", "message": "x", "expiry_s": 0}"#, "expiry_s"),
        (r#"{"to": "everybody", "message": "x", "expiry_s": -1}"#, "expiry_s"),
        (r#"{"to": "everybody"}"#, "message"),
        (r#"{"to": "everybody", "message": "x", "message_base64": "eA=="}"#, "message_base64"),
        (r#"{"to": "everybody", "message_base64": "?"}"#, "message_base64"),
        (r#"{"to": "everybody", "message": "x", "content_type": ""}"#, "content_type"),
        (
            r#"{"to": "everybody", "message": "x", "user_properties": [{"name": "", "value": ""}]}"#,
            "user_properties[0].name",
        ),
        (r#"{"to": "everybody", "message": "x", "user_properties": [{"name": "a"}]}"#, "user_properties[0]"),
    ];
    for (body, path) in table {
        let problem = fixture.post("/api/push", body).problem(422, "HTTP-005");
        assert_eq!(problem["path"], path, "{body}: {problem}");
    }
    assert!(fixture.fleet.accepted().is_empty(), "nothing happened");
}

#[test]
fn a_body_that_is_not_json_or_too_large_is_refused() {
    let fixture = Fixture::with(
        |config| {
            config.body_bytes_max = 2_000;
            config.message_bytes_max = 100;
            config.audience_devices_max = 2;
        },
        None,
    );
    let problem = fixture.post("/api/push", "{\"to\": ").problem(400, "HTTP-004");
    assert!(problem["detail"].as_str().expect("text").contains("line 1 column"), "{problem}");
    fixture.post("/api/push", r#"{"to": "everybody", "message": "x"} {"#).problem(400, "HTTP-004");
    fixture.post("/api/push", r#"["everybody", "x"]"#).problem(422, "HTTP-005");
    let deep = format!(r#"{{"to": "everybody", "message": {}"#, "[".repeat(1_900));
    fixture.post("/api/push", &deep).problem(400, "HTTP-004");
    let large = format!(r#"{{"to": "everybody", "message": "{}"}}"#, "x".repeat(101));
    fixture.post("/api/push", &large).problem(413, "HTTP-007");
    fixture.post("/api/push", &"x".repeat(2_001)).problem(413, "HTTP-007");
    let many = r#"{"to": {"devices": ["a", "b", "c"]}, "message": "x"}"#;
    assert_eq!(fixture.post("/api/push", many).problem(422, "HTTP-005")["path"], "to.devices");
    let bearer = format!("Bearer {}", fixture.admin);
    let text = [("authorization", bearer.as_str()), ("content-type", "text/plain")];
    fixture.ask("POST", "/api/push", &text, Some("{}")).problem(415, "HTTP-006");
}

#[test]
fn a_repeated_request_gets_the_first_answer_and_pushes_once() {
    let fixture = Fixture::begin();
    let body = r#"{"to": "everybody", "message": "once"}"#;
    let key = [("idempotency-key", "campaign-7")];
    let first = fixture.post_with("/api/push", body, &key);
    let again = fixture.post_with("/api/push", body, &key);
    assert_eq!((first.status, again.status), (202, 202));
    assert_eq!(first.json(), again.json());
    assert_eq!(
        (first.header("idempotent-replayed"), again.header("idempotent-replayed")),
        (None, Some("true"))
    );
    assert_eq!(fixture.fleet.accepted().len(), 1);

    let other = r#"{"to": "everybody", "message": "twice"}"#;
    fixture.post_with("/api/push", other, &key).problem(422, "HTTP-015");
    fixture.post_with("/api/push", body, &[("idempotency-key", "with space")]).problem(400, "HTTP-016");
    fixture.post_with("/api/push", body, &[("idempotency-key", &"x".repeat(129))]).problem(400, "HTTP-016");
    assert_eq!(fixture.fleet.accepted().len(), 1);
}

#[test]
fn a_refused_push_names_its_owner_and_may_be_repeated() {
    let fixture = Fixture::begin();
    let body = r#"{"to": "everybody", "message": "x"}"#;
    let key = [("idempotency-key", "k")];
    let busy = Refusal::Busy {
        retry_after: Duration::from_millis(1_500),
        reason: "loop 0's mailbox is full".into(),
    };
    fixture.fleet.refuse_pushes(Some(busy));
    let answer = fixture.post_with("/api/push", body, &key);
    let problem = answer.problem(503, "HTTP-013");
    assert_eq!(answer.header("retry-after"), Some("2"));
    assert_eq!(problem["retry_after_s"], 2);

    fixture
        .fleet
        .refuse_pushes(Some(Refusal::Rejected { code: "EDGE-007", reason: "too large for MQTT".into() }));
    fixture.post_with("/api/push", body, &key).problem(422, "EDGE-007");

    fixture.fleet.refuse_pushes(None);
    fixture.fleet.become_ready(Readiness::Draining);
    assert!(fixture.post_with("/api/push", body, &key).problem(503, "HTTP-014")["retry_after_s"].is_u64());

    fixture.fleet.become_ready(Readiness::Ready);
    assert_eq!(fixture.post_with("/api/push", body, &key).status, 202, "the refusals were not remembered");
}

#[test]
fn devices_are_listed_page_by_page_shown_and_disconnected() {
    let fixture = Fixture::begin();
    for id in ["seat-1", "seat-2", "seat-3", "other", "a/b c"] {
        fixture.fleet.connect(&device(id), &["news"]);
    }
    fixture.fleet.disconnect(&device("seat-2"));
    let ids = |path: &str| {
        let page = fixture.get(path).json();
        let ids: Vec<_> = page["devices"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|device| device["id"].as_str().expect("text").to_owned())
            .collect();
        (ids.join(","), page["next"].as_str().map(ToOwned::to_owned))
    };
    assert_eq!(ids("/api/devices?prefix=seat&limit=2"), ("seat-1,seat-2".into(), Some("seat-2".into())));
    assert_eq!(ids("/api/devices?prefix=seat&limit=2&after=seat-2"), ("seat-3".into(), None));
    assert_eq!(ids("/api/devices?connected=false").0, "seat-2");
    assert_eq!(ids("/api/devices?search=EAT&connected=true").0, "seat-1,seat-3", "any part, in any case");
    assert_eq!(ids("/api/devices?search=t-&limit=1&after=seat-1"), ("seat-2".into(), Some("seat-2".into())));
    assert_eq!(ids("/api/devices?search=-1&prefix=o"), (String::new(), None), "both must hold");
    assert_eq!(ids("/api/devices?connected=true&prefix=seat").0, "seat-1,seat-3");

    let shown = fixture.get("/api/devices/a%2Fb%20c").json();
    assert_eq!(shown["id"], "a/b c");
    assert_eq!(shown["subscriptions"][1]["filter"], "channels/news");
    assert_eq!(shown["connection"]["transport"], "tcp");

    assert_eq!(fixture.delete("/api/devices/seat-1/connection").status, 204);
    assert_eq!(fixture.get("/api/devices/seat-1").json()["connected"], false);
    fixture.delete("/api/devices/seat-1/connection").problem(409, "HTTP-012");
    fixture.delete("/api/devices/nobody/connection").problem(404, "HTTP-011");
    fixture.get("/api/devices/nobody").problem(404, "HTTP-011");
}

#[test]
fn a_wrong_query_is_named() {
    let fixture = Fixture::begin();
    for (path, parameter) in [
        ("/api/devices?limit=0", "limit"),
        ("/api/devices?limit=1001", "limit"),
        ("/api/devices?connected=yes", "connected"),
        ("/api/devices?prefix=a&prefix=b", "prefix"),
        ("/api/devices?search=a&search=b", "search"),
        ("/api/devices?after=", "after"),
        ("/api/pushes?limit=x", "limit"),
        ("/api/pushes?page=2", "page"),
    ] {
        assert_eq!(fixture.get(path).problem(400, "HTTP-017")["path"], parameter, "{path}");
    }
    fixture.get("/api/pushes/p0000000000000009").problem(404, "HTTP-010");
    fixture.get("/api/pushes/9").problem(404, "HTTP-010");
}

#[test]
fn roles_allow_their_part_and_strangers_get_nothing() {
    let fixture = Fixture::begin();
    let make = |role: &str| {
        let made = fixture.post("/api/keys", &format!(r#"{{"name": "{role} key", "roles": ["{role}"]}}"#));
        assert_eq!(made.status, 201, "{}", made.text);
        let made = made.json();
        (
            made["key"]["id"].as_str().expect("an id").to_owned(),
            made["secret"].as_str().expect("a secret").to_owned(),
        )
    };
    let (read_id, read) = make("viewer");
    let (_, send) = make("sender");
    let push = r#"{"to": "everybody", "message": "x"}"#;
    let ask = |method: &str, path: &str, secret: &str, body: Option<&str>| {
        let bearer = format!("Bearer {secret}");
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        fixture.ask(method, path, &headers, body)
    };
    assert_eq!(ask("GET", "/api/devices", &read, None).status, 200);
    assert_eq!(ask("GET", "/metrics", &read, None).status, 200);
    ask("POST", "/api/push", &read, Some(push)).problem(403, "HTTP-003");
    assert_eq!(ask("POST", "/api/push", &send, Some(push)).status, 202);
    assert_eq!(ask("GET", "/api/devices", &send, None).status, 200);
    ask("DELETE", "/api/devices/x/connection", &send, None).problem(403, "HTTP-003");
    ask("GET", "/api/keys", &send, None).problem(403, "HTTP-003");

    for (method, path) in [
        ("GET", "/api/devices"),
        ("GET", "/api/devices/x"),
        ("DELETE", "/api/devices/x/connection"),
        ("GET", "/api/pushes"),
        ("GET", "/api/pushes/p0000000000000001"),
        ("GET", "/api/keys"),
        ("DELETE", "/api/keys/k_1"),
        ("GET", "/api/live"),
        ("GET", "/metrics"),
    ] {
        let answer = fixture.ask(method, path, &[], None);
        answer.problem(401, "HTTP-001");
        assert!(answer.header("www-authenticate").is_some(), "{path}");
        ask(method, path, "sk_wrong", None).problem(401, "HTTP-002");
    }
    fixture.ask("POST", "/api/push", &[], Some(push)).problem(401, "HTTP-001");
    assert_eq!(fixture.ask("GET", "/healthz", &[], None).status, 200, "health needs no key");

    let keys = fixture.get("/api/keys");
    assert_eq!(keys.json()["keys"].as_array().expect("a list").len(), 3);
    assert!(!keys.text.contains(&read) && !keys.text.contains(&send), "secrets are never listed");
    assert_eq!(keys.json()["keys"][1]["prefix"], read[..7]);
    assert_eq!(keys.json()["keys"][1]["last_used_from"], "127.0.0.1");
    assert_eq!(fixture.delete(&format!("/api/keys/{read_id}")).status, 204);
    ask("GET", "/api/devices", &read, None).problem(401, "HTTP-002");
    fixture.delete(&format!("/api/keys/{read_id}")).problem(404, "HTTP-020");
    let admin_id = fixture.get("/api/keys").json()["keys"][0]["id"].as_str().expect("an id").to_owned();
    fixture.delete(&format!("/api/keys/{admin_id}")).problem(409, "HTTP-021");
    let unnamed = fixture.post("/api/keys", r#"{"name": "", "roles": ["viewer"]}"#);
    assert_eq!(unnamed.problem(422, "HTTP-005")["path"], "name");
    fixture.post("/api/keys", r#"{"name": "x", "roles": ["god"]}"#).problem(422, "HTTP-005");
}

#[test]
fn open_reading_needs_no_key_but_an_address_as_host() {
    let fixture = Fixture::with(|config| config.open_read = true, None);
    assert_eq!(fixture.ask("GET", "/api/devices", &[], None).status, 200);
    assert_eq!(fixture.ask("GET", "/metrics", &[], None).status, 200);
    fixture.ask("GET", "/api/devices", &[("host", "rebound.example")], None).problem(401, "HTTP-001");
    fixture
        .ask("GET", "/api/devices", &[("authorization", "Bearer sk_wrong")], None)
        .problem(401, "HTTP-002");
    let push = r#"{"to": "everybody", "message": "x"}"#;
    let json = [("content-type", "application/json")];
    fixture.ask("POST", "/api/push", &json, Some(push)).problem(401, "HTTP-001");
    fixture.ask("GET", "/api/keys", &[], None).problem(401, "HTTP-001");
}

#[test]
fn health_follows_the_fleet() {
    let fixture = Fixture::begin();
    assert_eq!(fixture.ask("GET", "/readyz", &[], None).json()["status"], "ready");
    fixture.fleet.become_ready(Readiness::Starting("the journal is being read".into()));
    let problem = fixture.ask("GET", "/readyz", &[], None).problem(503, "HTTP-014");
    assert!(problem["detail"].as_str().expect("text").contains("the journal is being read"));
    assert_eq!(fixture.ask("GET", "/healthz", &[], None).json()["status"], "alive");
}

#[test]
fn metrics_carry_units_help_and_the_fleets_figures() {
    let fixture = Fixture::begin();
    fixture.fleet.connect(&device("a"), &["everybody"]);
    fixture.post("/api/push", r#"{"to": "everybody", "message": "x"}"#);
    fixture.delete("/api/devices/a/connection");
    fixture.fleet.change_stats(|stats| {
        stats.loops = vec![Default::default(), Default::default()];
        stats.loops[1].busy_ratio = 0.25;
        stats.loops[1].bytes_out_total = 77;
        stats.bytes_held.sessions = 440;
    });
    let plain = fixture.get("/metrics");
    assert_eq!(plain.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(
        plain.text.contains("# TYPE stadium_connects_total counter\nstadium_connects_total 1\n"),
        "{}",
        plain.text
    );
    assert!(!plain.text.contains("# EOF") && !plain.text.contains("# UNIT"), "{}", plain.text);
    let bearer = format!("Bearer {}", fixture.admin);
    let headers = [
        ("authorization", &*bearer),
        ("accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"),
    ];
    let answer = fixture.ask("GET", "/metrics", &headers, None);
    assert!(answer.header("content-type").expect("a type").starts_with("application/openmetrics-text"));
    for line in [
        "stadium_connections 0",
        "stadium_sessions 1",
        "stadium_connects_total 1",
        "stadium_deliveries_total 1",
        "stadium_closes_total{reason=\"kicked\"} 1",
        "stadium_loop_busy_ratio{loop=\"1\"} 0.25",
        "stadium_loop_written_bytes_total{loop=\"1\"} 77",
        "stadium_memory_held_bytes{by=\"sessions\"} 440",
        "stadium_delivery_latency_seconds_bucket{le=\"0.0005\"} 0",
        "stadium_delivery_latency_seconds_bucket{le=\"0.0007\"} 1",
        "stadium_delivery_latency_seconds_bucket{le=\"+Inf\"} 1",
        "stadium_delivery_latency_seconds_count 1",
        "stadium_http_requests_total{route=\"POST /api/push\",status=\"202\"} 1",
        "stadium_build_info{version=\"0.1.0\"} 1",
        "# EOF",
    ] {
        assert!(answer.text.lines().any(|known| known == line), "{line} is not in\n{}", answer.text);
    }
    assert!(
        answer.text.lines().filter(|line| line.starts_with("# HELP")).all(|line| line.split(' ').count() > 4)
    );
}

#[test]
fn the_description_names_every_path_and_each_is_answered() {
    let fixture = Fixture::begin();
    let api = fixture.get("/openapi.json").json();
    let (mut described, mut names) = (Vec::new(), Vec::new());
    for (path, item) in api["paths"].as_object().expect("paths") {
        for (method, operation) in item.as_object().expect("methods") {
            names.push(operation["operationId"].to_string());
            described.push(format!("{} {path}", method.to_uppercase()));
            let asked = ["id", "queue", "job", "lease", "name", "wallet", "asset"]
                .iter()
                .fold(path.clone(), |path, part| path.replace(&format!("{{{part}}}"), "x"));
            let answer = fixture.ask(&method.to_uppercase(), &asked, &[], (method == "post").then_some("{}"));
            // To a sender of Web Push, an endpoint that is none is not found (RFC 8030, 7.3).
            let is_answered = answer.status == 404 && path.starts_with("/wp/");
            assert!(
                is_answered || ![404, 405, 500].contains(&answer.status),
                "{method} {path}: {}",
                answer.status
            );
        }
    }
    described.sort();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), described.len(), "each operation has a name of its own");
    assert_eq!(
        described,
        [
            "DELETE /api/apps/{app}",
            "DELETE /api/apps/{app}/audiences/{name}",
            "DELETE /api/apps/{app}/devices",
            "DELETE /api/apps/{app}/devices/{device}",
            "DELETE /api/apps/{app}/devices/{device}/credential",
            "DELETE /api/apps/{app}/devices/{device}/webpush",
            "DELETE /api/apps/{app}/devices/{device}/webpush/{subscription}",
            "DELETE /api/apps/{app}/lists/{name}/devices",
            "DELETE /api/apps/{app}/schedules/{name}",
            "DELETE /api/devices/{id}/connection",
            "DELETE /api/erasures/nodes/{node}",
            "DELETE /api/jobs/{job}",
            "DELETE /api/keys/{id}",
            "DELETE /api/queues/{queue}",
            "DELETE /api/queues/{queue}/schedules/{name}",
            "DELETE /api/retained",
            "DELETE /wp/m/{token}",
            "GET /api/apps",
            "GET /api/apps/{app}",
            "GET /api/apps/{app}/audiences",
            "GET /api/apps/{app}/devices",
            "GET /api/apps/{app}/devices/export",
            "GET /api/apps/{app}/devices/{device}",
            "GET /api/apps/{app}/devices/{device}/webpush",
            "GET /api/apps/{app}/pushes",
            "GET /api/apps/{app}/pushes/{push}",
            "GET /api/apps/{app}/pushes/{push}/deliveries",
            "GET /api/apps/{app}/pushes/{push}/devices/{device}",
            "GET /api/apps/{app}/pushes/{push}/live",
            "GET /api/apps/{app}/schedules",
            "GET /api/assets",
            "GET /api/audit",
            "GET /api/cluster",
            "GET /api/cluster/shards",
            "GET /api/configuration",
            "GET /api/devices",
            "GET /api/devices/{id}",
            "GET /api/erasures",
            "GET /api/erasures/{id}",
            "GET /api/history",
            "GET /api/jobs/{job}",
            "GET /api/jobs/{job}/history",
            "GET /api/keys",
            "GET /api/keys/{id}/explain",
            "GET /api/live",
            "GET /api/live/queues",
            "GET /api/live/wallets",
            "GET /api/me/device",
            "GET /api/me/inbox",
            "GET /api/node",
            "GET /api/pushes",
            "GET /api/pushes/{id}",
            "GET /api/queues",
            "GET /api/queues/{queue}",
            "GET /api/queues/{queue}/jobs",
            "GET /api/queues/{queue}/schedules",
            "GET /api/retained",
            "GET /api/rules",
            "GET /api/services",
            "GET /api/topics/stream",
            "GET /api/trace",
            "GET /api/transfers/{id}",
            "GET /api/users/{user}/export",
            "GET /api/wallets",
            "GET /api/wallets/roots",
            "GET /api/wallets/{wallet}",
            "GET /api/wallets/{wallet}/holds",
            "GET /api/wallets/{wallet}/{asset}",
            "GET /api/wallets/{wallet}/{asset}/balance",
            "GET /api/wallets/{wallet}/{asset}/history",
            "GET /api/wallets/{wallet}/{asset}/statement",
            "GET /healthz",
            "GET /metrics",
            "GET /readyz",
            "GET /wp/m/{token}",
            "GET /wp/{token}",
            "PATCH /api/apps/{app}/devices/{device}",
            "PATCH /api/apps/{app}/pushes/{push}",
            "PATCH /api/jobs/{job}",
            "PATCH /api/me/device",
            "PATCH /api/wallets/{wallet}/{asset}",
            "POST /api/apps/{app}/audiences/preview",
            "POST /api/apps/{app}/devices",
            "POST /api/apps/{app}/devices/import",
            "POST /api/apps/{app}/devices/{device}/credential",
            "POST /api/apps/{app}/devices/{device}/restore",
            "POST /api/apps/{app}/devices/{device}/revoke",
            "POST /api/apps/{app}/devices/{device}/token",
            "POST /api/apps/{app}/devices/{device}/webpush",
            "POST /api/apps/{app}/pushes",
            "POST /api/apps/{app}/pushes/{push}/cancel",
            "POST /api/apps/{app}/pushes/{push}/clicked",
            "POST /api/apps/{app}/pushes/{push}/opened",
            "POST /api/apps/{app}/schedules/{name}/pause",
            "POST /api/apps/{app}/schedules/{name}/resume",
            "POST /api/jobs/delete",
            "POST /api/keys",
            "POST /api/keys/{id}/rotate",
            "POST /api/leases/bury",
            "POST /api/leases/extend",
            "POST /api/leases/release",
            "POST /api/leases/settle",
            "POST /api/leases/{lease}/bury",
            "POST /api/leases/{lease}/extend",
            "POST /api/leases/{lease}/forward",
            "POST /api/leases/{lease}/release",
            "POST /api/leases/{lease}/settle",
            "POST /api/me/clicked",
            "POST /api/me/inbox/settle",
            "POST /api/me/opened",
            "POST /api/publish",
            "POST /api/publish/batch",
            "POST /api/publish/raw",
            "POST /api/push",
            "POST /api/queues/{queue}/jobs",
            "POST /api/queues/{queue}/kick",
            "POST /api/queues/{queue}/pause",
            "POST /api/queues/{queue}/purge",
            "POST /api/queues/{queue}/redrive",
            "POST /api/queues/{queue}/reserve",
            "POST /api/queues/{queue}/resume",
            "POST /api/together",
            "POST /api/topics/tickets",
            "POST /api/transfers",
            "POST /api/transfers/batch",
            "POST /api/transfers/{id}/capture",
            "POST /api/transfers/{id}/reverse",
            "POST /api/transfers/{id}/void",
            "POST /api/users/{user}/erase",
            "POST /api/wallets",
            "POST /wp/{token}",
            "PUT /api/apps/{app}",
            "PUT /api/apps/{app}/audiences/{name}",
            "PUT /api/apps/{app}/devices/{device}",
            "PUT /api/apps/{app}/lists/{name}/devices",
            "PUT /api/apps/{app}/schedules/{name}",
            "PUT /api/assets/{asset}",
            "PUT /api/queues/{queue}",
            "PUT /api/queues/{queue}/schedules/{name}",
            "PUT /api/rules",
        ]
    );
    let references = api.to_string();
    for (at, _) in references.match_indices("#/components/schemas/") {
        let name = references[at + 21..].split('"').next().expect("a name");
        assert!(api["components"]["schemas"][name].is_object(), "{name} is referred to and missing");
    }
}

#[test]
fn pages_for_people_need_no_key_and_nothing_from_elsewhere() {
    let fixture = Fixture::begin();
    let root = fixture.ask("GET", "/", &[], None);
    assert_eq!((root.status, root.header("location")), (307, Some("/live")));
    for path in [
        "/live",
        "/queues",
        "/queues/mails",
        "/wallets",
        "/wallets/@shop",
        "/nodes",
        "/docs",
        "/docs/errors/WAL-023",
    ] {
        let page = fixture.ask("GET", path, &[], None);
        assert_eq!(page.status, 200, "{path}");
        let policy = page.header("content-security-policy").expect("a policy");
        assert!(policy.contains("default-src 'none'"), "{policy}");
        assert!(!page.text.contains("//cdn") && !page.text.contains("src=\"http"), "{path}");
    }
    let docs = fixture.ask("GET", "/docs", &[], None).text;
    for shown in [
        "/api/push",
        "expiry_s",
        "HTTP-015",
        "Idempotency-Key",
        "/api/queues",
        "QUE-022",
        "/api/transfers",
        "WAL-023",
    ] {
        assert!(docs.contains(shown), "{shown}");
    }
    fixture.ask("GET", "/assets/none.js", &[], None).problem(404, "HTTP-008");
}

/// The `type` of every problem leads to one of these pages, and so do the codes in logs and audits.
#[test]
fn each_code_of_each_part_has_its_page() {
    let fixture = Fixture::begin();
    let docs = fixture.ask("GET", "/docs", &[], None).text;
    let listed: Vec<_> = docs
        .split("<dt><a href=\"/docs/errors/")
        .skip(1)
        .map(|link| link.split('"').next().expect("the link's end"))
        .collect();
    let parts =
        "HTTP TOPIC RULES ERA QUE WAL PSH DEV WEB RPC SHARD CLU JRN ARC ADT KFK DSC AUTH LOAD SET NODE";
    for part in parts.split(' ') {
        let of_part = format!("{part}-");
        assert!(listed.iter().any(|code| code.starts_with(&of_part)), "{part} is not listed");
    }
    for code in &listed {
        let page = fixture.ask("GET", &format!("/docs/errors/{code}"), &[], None);
        assert_eq!(page.status, 200, "{code}");
        assert!(
            page.text.contains(&format!("<h1>{code}")) && page.text.contains("</h1><p>"),
            "{}",
            page.text
        );
    }
    fixture.ask("GET", "/docs/errors/HTTP-999", &[], None).problem(404, "HTTP-008");
}

#[test]
fn unknown_paths_and_methods_are_problems_too() {
    let fixture = Fixture::begin();
    fixture.get("/api/nothing").problem(404, "HTTP-008");
    fixture.get("/api/devices/%FF").problem(404, "HTTP-008");
    let answer = fixture.delete("/api/push");
    answer.problem(405, "HTTP-009");
    assert_eq!(answer.header("allow"), Some("POST"));
    fixture.get("/mqtt").problem(501, "HTTP-024");
}
