//! Queues as an operator sees them: declared, listed, paused, emptied; and refusals.
//!
//! Over a real socket, answered by real shards on a real disk.

use crate::support;

use serde_json::{Value, json};
use support::work::{post, put, reserve};
use support::{Fixture, eventually};

#[test]
fn a_queue_is_declared_shown_emptied_and_dropped() {
    let fixture = Fixture::with_queues();
    fixture.get("/api/queues/own").problem(404, "QUE-020");
    let settings = json!({
        "lease_ms": 5_000, "attempts_max": 3, "backoff": {"first_ms": 100, "factor": 3.0}, "dead_letter": {"queue": "own.dead"},
        "jobs_max": 2, "limit": {"rate": 1_000.0}, "key_limit": {"rate": 0.5, "burst": 2},
    });
    let made = fixture.put("/api/queues/own", &settings.to_string());
    assert_eq!(made.status, 200, "{}", made.text);
    let shown = fixture.get("/api/queues/own").json();
    assert_eq!(shown["settings"]["lease_ms"], 5_000);
    assert_eq!(
        shown["settings"]["backoff"],
        json!({"first_ms": 100, "factor": 3.0, "max_ms": 600_000, "jitter": 0.5})
    );
    assert_eq!(shown["settings"]["dead_letter"], json!({"queue": "own.dead"}));
    assert_eq!(shown["settings"]["limit"], json!({"rate": 1_000.0, "burst": 1_000}));
    assert_eq!(shown["settings"]["key_limit"], json!({"rate": 0.5, "burst": 2}));
    assert_eq!(shown["settings"]["spread"], "one_shard");

    put(&fixture, "own", json!({"payload": "1"}));
    put(&fixture, "own", json!({"payload": "2"}));
    let full = fixture.post("/api/queues/own/jobs", r#"{"payload": "3"}"#);
    assert!(full.problem(429, "QUE-040")["retry_after_s"].as_u64().expect("seconds") >= 1);
    assert!(full.header("retry-after").is_some());
    fixture.delete("/api/queues/own").problem(409, "QUE-025");
    assert_eq!(post(&fixture, "/api/queues/own/purge", json!({"state": "due"}))["count"], 2);
    eventually("the queue can be dropped", || fixture.delete("/api/queues/own").status == 204);
    fixture.get("/api/queues/own").problem(404, "QUE-020");
    // Without settings it has the defaults.
    assert_eq!(
        fixture
            .ask("PUT", "/api/queues/plain", &[("authorization", &format!("Bearer {}", fixture.admin))], None)
            .status,
        200
    );
    assert_eq!(fixture.get("/api/queues/plain").json()["settings"]["jobs_max"], 10_000_000);
}

#[test]
fn a_paused_queue_hands_nothing_out() {
    let fixture = Fixture::with_queues();
    put(&fixture, "pause", json!({"payload": "x"}));
    assert_eq!(fixture.post("/api/queues/pause/pause", "").status, 204);
    assert_eq!(fixture.get("/api/queues/pause").json()["paused"], true);
    put(&fixture, "pause", json!({"payload": "y"}));
    assert!(reserve(&fixture, "pause", json!({})).is_empty());
    assert_eq!(fixture.post("/api/queues/pause/resume", "").status, 204);
    assert_eq!(reserve(&fixture, "pause", json!({"max": 5})).len(), 2);
}

#[test]
fn queues_are_listed_in_pages_and_found_by_a_part_of_their_name() {
    let fixture = Fixture::with_queues();
    for n in 0..25 {
        assert_eq!(fixture.put(&format!("/api/queues/tenant-{n:02}.Mails"), "{}").status, 200);
    }
    let mut names = Vec::new();
    let mut after = String::new();
    loop {
        let page = fixture.get(&format!("/api/queues?limit=10{after}")).json();
        names.extend(page["queues"].as_array().expect("a list").iter().map(|queue| queue["name"].clone()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(names.len(), 25);
    assert!(names.is_sorted_by_key(|name| name.as_str().map(ToOwned::to_owned)), "{names:?}");

    let found = fixture.get("/api/queues?search=t-1&limit=4").json();
    assert_eq!(found["queues"].as_array().expect("a list").len(), 4);
    let rest = fixture
        .get(&format!("/api/queues?search=T-1&after={}", found["next"].as_str().expect("more")))
        .json();
    assert_eq!(rest["queues"].as_array().expect("a list").len(), 6);
    assert_eq!(rest["next"], Value::Null);
}

#[test]
fn a_schedule_is_set_replaced_and_ended() {
    let fixture = Fixture::with_queues();
    let path = "/api/queues/news/schedules/friday%20evening";
    let set = fixture.put(path, r#"{"cron": "0 20 * * FRI", "time_zone": "Europe/Berlin", "missed": "skip", "job": {"payload": "x"}}"#);
    assert_eq!(set.status, 204, "{}", set.text);
    let shown = fixture.get("/api/queues/news/schedules").json();
    let schedule = &shown["schedules"][0];
    assert_eq!(
        (&schedule["name"], &schedule["time_zone"]),
        (&"friday evening".into(), &"Europe/Berlin".into())
    );
    assert_eq!((&schedule["missed"], &schedule["last_at"]), (&"skip".into(), &Value::Null));
    assert!(schedule["next_at"].is_string());
    assert_eq!(schedule["job"], json!({"priority": 4, "attempts_max": 10, "payload": "x"}));
    assert_eq!(fixture.put(path, r#"{"cron": "@hourly", "job": {"payload": "y"}}"#).status, 204);
    let shown = fixture.get("/api/queues/news/schedules").json();
    assert_eq!(shown["schedules"].as_array().expect("a list").len(), 1);
    assert_eq!(
        (&shown["schedules"][0]["cron"], &shown["schedules"][0]["time_zone"]),
        (&"@hourly".into(), &"UTC".into())
    );

    fixture.put(path, r#"{"cron": "every day", "job": {"payload": "x"}}"#).problem(422, "QUE-011");
    fixture
        .put(path, r#"{"cron": "@daily", "time_zone": "Moon/Sea", "job": {"payload": "x"}}"#)
        .problem(422, "QUE-012");
    let wrong = fixture
        .put(path, r#"{"cron": "@daily", "job": {"payload": "x", "delay_ms": 1}}"#)
        .problem(422, "HTTP-005");
    assert_eq!(wrong["path"], "job.delay_ms");
    assert_eq!(fixture.delete(path).status, 204);
    fixture.delete(path).problem(404, "QUE-026");
}

#[test]
fn mistakes_are_named_and_nothing_happens() {
    let fixture = Fixture::with_queues();
    let jobs = "/api/queues/q/jobs";
    let long = "x".repeat(129);
    for (body, code, path) in [
        ("{".to_owned(), "HTTP-004", None),
        (r#"{}"#.to_owned(), "HTTP-005", Some("payload")),
        (r#"{"payload": "x", "delay": 5}"#.to_owned(), "HTTP-005", Some("delay")),
        (r#"{"payload": "x", "delay_ms": -5}"#.to_owned(), "HTTP-005", Some("delay_ms")),
        (r#"{"payload": "x", "delay_ms": 99999999999999}"#.to_owned(), "QUE-003", None),
        (r#"{"payload": "x", "run_at": "tomorrow"}"#.to_owned(), "HTTP-005", Some("run_at")),
        (
            r#"{"payload": "x", "run_at": "2030-01-01T00:00:00Z", "delay_ms": 1}"#.to_owned(),
            "HTTP-005",
            Some("run_at"),
        ),
        (r#"{"payload": "x", "payload_base64": "eA=="}"#.to_owned(), "HTTP-005", Some("payload_base64")),
        (r#"{"payload_base64": "not base64"}"#.to_owned(), "HTTP-005", Some("payload_base64")),
        (r#"{"payload": "x", "priority": 10}"#.to_owned(), "QUE-002", None),
        (r#"{"payload": "x", "priority": 1000}"#.to_owned(), "HTTP-005", Some("priority")),
        (r#"{"payload": "x", "ttl_ms": 0}"#.to_owned(), "QUE-005", None),
        (r#"{"payload": "x", "attempts_max": 0}"#.to_owned(), "QUE-007", None),
        (format!(r#"{{"payload": "x", "key": "{long}"}}"#), "HTTP-005", Some("key")),
        (r#"{"payload": "x", "dedup_window_ms": 5}"#.to_owned(), "HTTP-005", Some("dedup_window_ms")),
        (r#"{"jobs": []}"#.to_owned(), "QUE-001", None),
        (
            r#"{"jobs": [{"payload": "x"}, {"payload": "x", "key": "a\u0007"}]}"#.to_owned(),
            "HTTP-005",
            Some("jobs[1].key"),
        ),
        (r#"{"jobs": [{"payload": "x"}], "priority": 3}"#.to_owned(), "HTTP-005", Some("priority")),
        (r#"[{"payload": "x"}]"#.to_owned(), "HTTP-005", None),
    ] {
        let status = if code == "HTTP-004" { 400 } else { 422 };
        let problem = fixture.post(jobs, &body).problem(status, code);
        assert_eq!(
            problem.get("path").and_then(Value::as_str).filter(|path| !path.is_empty()),
            path,
            "{body}: {problem}"
        );
    }
    let many: Vec<_> = (0..1_001).map(|n| json!({"payload": n})).collect();
    fixture.post(jobs, &json!({"jobs": many}).to_string()).problem(422, "QUE-001");
    let large = json!({"payload": "x".repeat((1 << 20) + 1)}).to_string();
    fixture.post(jobs, &large).problem(413, "QUE-004");
    fixture.get("/api/queues/q").problem(404, "QUE-020");

    for (path, body, status, code) in [
        ("/api/queues/no%20name/jobs", r#"{"payload": "x"}"#, 422, "HTTP-028"),
        ("/api/queues/q/reserve", r#"{"max": 0}"#, 422, "QUE-001"),
        ("/api/queues/q/reserve", r#"{"max": 1001}"#, 422, "QUE-001"),
        ("/api/queues/q/reserve", r#"{"lease_ms": 10}"#, 422, "QUE-008"),
        ("/api/queues/q/reserve", r#"{"wait_ms": 60001}"#, 422, "HTTP-005"),
        ("/api/queues/q/reserve", r#"{"worker": ""}"#, 422, "HTTP-005"),
        ("/api/queues/q/kick", r#"{"jobs": ["x"]}"#, 422, "HTTP-005"),
        ("/api/queues/q/kick", r#"{"jobs": ["1"], "max": 1}"#, 422, "HTTP-005"),
        ("/api/queues/q/redrive", r#"{"to": "no name"}"#, 422, "HTTP-005"),
        ("/api/queues/q/purge", r#"{"state": "done"}"#, 422, "HTTP-005"),
        ("/api/leases/nonsense/settle", "{}", 422, "HTTP-028"),
        ("/api/leases/1-2/extend", "{}", 422, "HTTP-005"),
        ("/api/leases/settle", r#"{"leases": ["1-1", "1"]}"#, 422, "HTTP-005"),
        ("/api/leases/1-1/forward", r#"{"queue": "a b"}"#, 422, "HTTP-005"),
        ("/api/queues/unknown/pause", "{}", 404, "QUE-020"),
    ] {
        fixture.post(path, body).problem(status, code);
    }
    fixture.post("/api/leases/18446744073709551615-1/settle", "").problem(404, "SHARD-009");
    fixture.put("/api/queues/q", r#"{"lease_ms": 1}"#).problem(422, "QUE-010");
    fixture.put("/api/queues/q", r#"{"leese_ms": 1000}"#).problem(422, "HTTP-005");
    for (path, code) in [
        ("/api/queues?limit=0", "HTTP-017"),
        ("/api/queues?order=up", "HTTP-017"),
        ("/api/queues/q/jobs?state=done", "HTTP-017"),
        ("/api/queues/q/jobs?after=x", "HTTP-017"),
        ("/api/live/queues?sort=colour", "HTTP-017"),
        ("/api/live/queues?skip=-1", "HTTP-017"),
    ] {
        fixture.get(path).problem(400, code);
    }
    fixture.get("/api/jobs/x").problem(422, "HTTP-028");
    fixture.get("/api/jobs/5/history").problem(404, "QUE-021");
}

#[test]
fn roles_allow_to_look_work_and_purge() {
    let fixture = Fixture::with_queues();
    put(&fixture, "roles", json!({"payload": "x"}));
    let secret = |role: &str| {
        let made = fixture.post("/api/keys", &format!(r#"{{"name": "{role}", "roles": ["{role}"]}}"#));
        format!("Bearer {}", made.json()["secret"].as_str().expect("a secret"))
    };
    let (reader, sender) = (secret("viewer"), secret("worker"));
    let ask = |method: &str, path: &str, key: &str, body: Option<&str>| {
        fixture.ask(method, path, &[("authorization", key), ("content-type", "application/json")], body)
    };
    for path in [
        "/api/queues",
        "/api/queues/roles",
        "/api/queues/roles/jobs",
        "/api/live/queues",
        "/api/queues/roles/schedules",
    ] {
        assert_eq!(ask("GET", path, &reader, None).status, 200, "{path}");
        fixture.ask("GET", path, &[], None).problem(401, "HTTP-001");
    }
    for path in [
        "/api/queues/roles/jobs",
        "/api/queues/roles/reserve",
        "/api/leases/settle",
        "/api/queues/roles/redrive",
    ] {
        ask("POST", path, &reader, Some("{}")).problem(403, "HTTP-003");
        fixture.ask("POST", path, &[], Some("{}")).problem(401, "HTTP-001");
    }
    assert_eq!(ask("POST", "/api/queues/roles/jobs", &sender, Some(r#"{"payload": "y"}"#)).status, 201);
    assert_eq!(ask("POST", "/api/queues/roles/reserve", &sender, Some("{}")).status, 200);
    ask("POST", "/api/queues/roles/purge", &sender, Some("{}")).problem(403, "HTTP-003");
    ask("PUT", "/api/queues/roles", &sender, Some("{}")).problem(403, "HTTP-003");
    ask("DELETE", "/api/queues/roles", &sender, None).problem(403, "HTTP-003");
}

#[test]
fn the_live_figures_have_rates_and_lines() {
    let fixture = Fixture::with_queues();
    for n in 0..30 {
        put(&fixture, if n % 3 == 0 { "calm" } else { "busy" }, json!({"payload": n}));
    }
    eventually("it was looked twice", || {
        put(&fixture, "busy", json!({"payload": "more"}));
        let live = fixture.get("/api/live/queues").json();
        live["queues"][0]["name"] == "busy"
            && live["queues"][0]["per_s"]["put"].as_f64().is_some_and(|rate| rate > 0.0)
    });
    let live = fixture.get("/api/live/queues?sort=name&limit=1&skip=1&search=A").json();
    assert_eq!(
        (&live["queue_count"], &live["found_count"], &live["complete"]),
        (&2.into(), &1.into(), &true.into())
    );
    assert!(live["queues"].as_array().expect("a list").is_empty());
    let calm = fixture.get("/api/live/queues?queue=calm").json();
    assert_eq!((&calm["queues"][0]["jobs"]["due"], &calm["found_count"]), (&10.into(), &1.into()));
    assert!(calm["queues"][0]["put_line"].as_array().expect("points").len() >= 2);
    assert_eq!(calm["shards"].as_array().expect("shards").len(), 2);
    assert!(calm["shards"].as_array().expect("shards").iter().all(|shard| shard["serving"] == true));
    assert!(
        fixture.get("/api/live/queues?state=dead").json()["queues"].as_array().expect("a list").is_empty()
    );

    let metrics = fixture.get("/metrics").text;
    for line in [
        "stadium_queues 2",
        "stadium_queue_jobs{queue=\"calm\",state=\"due\"} 10",
        "stadium_queue_put_total{queue=\"calm\"} 10",
        "stadium_queue_paused{queue=\"calm\"} 0",
        "stadium_shard_serving{shard=\"1\"} 1.0",
    ] {
        assert!(metrics.lines().any(|known| known == line), "{line} is not in\n{metrics}");
    }
    for name in [
        "stadium_journal_sync_seconds_bucket",
        "stadium_shard_recovery_expected_seconds",
        "stadium_journal_records_total",
    ] {
        assert!(metrics.contains(name), "{name} is not in\n{metrics}");
    }
}

#[test]
fn queues_are_starting_until_there_are_shards() {
    let fixture = Fixture::begin();
    let answer = fixture.get("/api/queues");
    answer.problem(503, "HTTP-026");
    assert_eq!(answer.header("retry-after"), Some("1"));
    fixture.post("/api/queues/q/jobs", r#"{"payload": "x"}"#).problem(503, "HTTP-026");
    fixture.get("/api/live/queues").problem(503, "HTTP-026");
    assert!(!fixture.get("/metrics").text.contains("stadium_queue_jobs"));
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let fixture = Fixture::with(|config| config.body_bytes_max = 2_000, None);
    let body = json!({"payload": "x".repeat(2_001)}).to_string();
    fixture.post("/api/queues/q/jobs", &body).problem(413, "HTTP-007");
    fixture.post("/api/queues/q/reserve", &body).problem(413, "HTTP-007");
    fixture.put("/api/queues/q", &body).problem(413, "HTTP-007");
}
