//! Jobs and leases as a client sees them: over a real socket, answered by real shards on a real disk.
//!
//! The behaviour of the queues is tested in their own crate; these tests are about JSON and HTTP.

use crate::support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::work::{lease, post, put, reserve};
use support::{Fixture, eventually};

#[test]
fn a_job_is_put_reserved_and_settled() {
    let fixture = Fixture::with_queues();
    let id = put(&fixture, "mails", json!({"payload": "to seat-0042", "key": "tenant-7", "priority": 9}));
    let job = fixture.get(&format!("/api/jobs/{id}")).json();
    assert_eq!(
        (&job["state"], &job["queue"], &job["payload"]),
        (&"due".into(), &"mails".into(), &"to seat-0042".into())
    );
    assert_eq!((&job["key"], &job["priority"], &job["attempts"]), (&"tenant-7".into(), &9.into(), &0.into()));

    let reserved = reserve(&fixture, "mails", json!({"max": 10, "lease_ms": 60_000, "worker": "mailer-1"}));
    assert_eq!(reserved.len(), 1);
    assert_eq!((&reserved[0]["id"], &reserved[0]["attempt"]), (&id.as_str().into(), &1.into()));
    assert_eq!(reserved[0]["payload"], "to seat-0042");
    assert!(reserve(&fixture, "mails", json!({})).is_empty(), "it is handed out once");
    assert_eq!(fixture.get(&format!("/api/jobs/{id}")).json()["state"], "reserved");

    let lease = reserved[0]["lease"].as_str().expect("a lease");
    assert_eq!(post(&fixture, &format!("/api/leases/{lease}/settle"), json!({}))["outcome"], "done");
    assert_eq!(post(&fixture, &format!("/api/leases/{lease}/settle"), json!({}))["outcome"], "already");
    fixture.get(&format!("/api/jobs/{id}")).problem(404, "QUE-021");

    let history = fixture.get(&format!("/api/jobs/{id}/history")).json();
    let events: Vec<_> =
        history["events"].as_array().expect("a list").iter().map(|e| e["event"].clone()).collect();
    assert_eq!(events, ["settled", "reserved", "put"]);
    assert_eq!(history["events"][1]["worker"], "mailer-1");
}

#[test]
fn payloads_come_back_as_they_were_put() {
    let fixture = Fixture::with_queues();
    let cases = [
        (json!({"payload": "héllo \u{0} \"quoted\""}), json!({"payload": "héllo \u{0} \"quoted\""})),
        (json!({"payload": ""}), json!({"payload": ""})),
        (json!({"payload": 5}), json!({"payload": "5"})),
        (json!({"payload_base64": "AP+A"}), json!({"payload_base64": "AP+A"})),
        (json!({"payload_base64": "aGk="}), json!({"payload": "hi"})),
    ];
    let jobs: Vec<_> = cases.iter().map(|(given, _)| given.clone()).collect();
    let placed = post(&fixture, "/api/queues/round/jobs", json!({"jobs": jobs}));
    assert_eq!(placed["jobs"].as_array().expect("a list").len(), cases.len());
    // JSON keeps its order and spelling.
    let raw = fixture.post("/api/queues/round/jobs", r#"{"payload": {"b": 1.10, "a": [1, 2]}}"#);
    assert_eq!(raw.status, 201, "{}", raw.text);

    let reserved = reserve(&fixture, "round", json!({"max": 10}));
    for ((_, expected), job) in cases.iter().zip(&reserved) {
        for field in ["payload", "payload_base64"] {
            assert_eq!(expected.get(field), job.get(field), "{job}");
        }
    }
    assert_eq!(reserved[5]["payload"], r#"{"b": 1.10, "a": [1, 2]}"#);
}

#[test]
fn a_delayed_job_can_be_moved_forward() {
    let fixture = Fixture::with_queues();
    let later = put(&fixture, "later", json!({"payload": "x", "run_at": "2026-12-31T23:59:59.5+01:00"}));
    let job = fixture.get(&format!("/api/jobs/{later}")).json();
    assert_eq!((&job["state"], &job["due_at"]), (&"delayed".into(), &"2026-12-31T22:59:59.500Z".into()));
    let soon = put(&fixture, "later", json!({"payload": "y", "delay_ms": 3_600_000, "ttl_ms": 7_200_000}));
    assert!(fixture.get(&format!("/api/jobs/{soon}")).json()["expires_at"].is_string());
    assert!(reserve(&fixture, "later", json!({})).is_empty());

    let edited = fixture.send(
        "PATCH",
        &format!("/api/jobs/{later}"),
        r#"{"delay_ms": 0, "payload": "z", "attempts_max": 3}"#,
    );
    assert_eq!(edited.status, 204, "{}", edited.text);
    let reserved = reserve(&fixture, "later", json!({}));
    assert_eq!((&reserved[0]["id"], &reserved[0]["payload"]), (&later.as_str().into(), &"z".into()));
    // Somebody works on it now.
    fixture.send("PATCH", &format!("/api/jobs/{later}"), r#"{"priority": 1}"#).problem(409, "QUE-023");

    assert_eq!(fixture.delete(&format!("/api/jobs/{soon}")).json()["outcome"], "done");
    fixture.get(&format!("/api/jobs/{soon}")).problem(404, "QUE-021");
}

#[test]
fn a_waiting_reserve_is_answered_by_the_next_put() {
    let fixture = Fixture::with_queues();
    fixture.put("/api/queues/wait", "{}");
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| reserve(&fixture, "wait", json!({"wait_ms": 20_000})));
        eventually("it waits", || fixture.get("/api/queues/wait").json()["waiting"] == 1);
        put(&fixture, "wait", json!({"payload": "now"}));
        let jobs = waits.join().expect("answered");
        assert_eq!(jobs[0]["payload"], "now");
    });
    let began = Instant::now();
    assert!(reserve(&fixture, "wait", json!({"wait_ms": 50})).is_empty());
    assert!(began.elapsed() >= Duration::from_millis(50));
}

#[test]
fn a_client_that_goes_away_takes_its_reserve_back() {
    let fixture = Fixture::with_queues();
    fixture.put("/api/queues/gone", "{}");
    let body = r#"{"wait_ms": 60000}"#;
    let mut socket = TcpStream::connect(fixture.address).expect("it listens");
    write!(
        socket,
        "POST /api/queues/gone/reserve HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        fixture.admin,
        body.len()
    )
    .expect("it is open");
    eventually("it waits", || fixture.get("/api/queues/gone").json()["waiting"] == 1);
    drop(socket);
    eventually("nobody waits", || fixture.get("/api/queues/gone").json()["waiting"] == 0);
    put(&fixture, "gone", json!({"payload": "x"}));
    let jobs = reserve(&fixture, "gone", json!({}));
    assert_eq!(jobs[0]["attempt"], 1, "nobody had it in between");
}

#[test]
fn a_server_that_stops_lets_nobody_wait() {
    let mut fixture = Fixture::with_queues();
    fixture.put("/api/queues/stop", "{}");
    let body = r#"{"wait_ms": 60000}"#;
    let mut socket = TcpStream::connect(fixture.address).expect("it listens");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket option");
    write!(
        socket,
        "POST /api/queues/stop/reserve HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        fixture.admin,
        body.len()
    )
    .expect("it is open");
    eventually("it waits", || fixture.get("/api/queues/stop").json()["waiting"] == 1);
    assert!(fixture.stop(), "the wait does not hold it up");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(r#"{"jobs":[]}"#), "{answer}");
}

#[test]
fn a_job_that_fails_is_tried_again_then_dead_and_redriven() {
    let fixture = Fixture::with_queues();
    let id = put(&fixture, "fails", json!({"payload": "x", "attempts_max": 2}));
    let first = lease(&fixture, "fails");
    let released =
        post(&fixture, &format!("/api/leases/{first}/release"), json!({"delay_ms": 0, "error": "451 later"}));
    assert_eq!(released["outcome"], "done");
    assert_eq!(fixture.get(&format!("/api/jobs/{id}")).json()["reason"], "451 later");
    fixture.post(&format!("/api/leases/{first}/extend"), r#"{"lease_ms": 5000}"#).problem(409, "QUE-022");

    let second = lease(&fixture, "fails");
    let released = post(&fixture, &format!("/api/leases/{second}/release"), json!({"error": "550 never"}));
    assert_eq!(released["outcome"], "dead");
    let dead = fixture.get("/api/queues/fails/jobs?state=dead").json();
    assert_eq!((&dead["jobs"][0]["id"], &dead["jobs"][0]["attempts"]), (&id.as_str().into(), &2.into()));
    assert!(dead["jobs"][0]["reason"].as_str().expect("a reason").contains("550 never"), "{dead}");

    assert_eq!(post(&fixture, "/api/queues/fails/redrive", json!({"jobs": [id]}))["count"], 1);
    assert_eq!(reserve(&fixture, "fails", json!({}))[0]["attempt"], 1, "attempts start anew");
    let history = fixture.get(&format!("/api/jobs/{id}/history")).json();
    let events = history["events"].as_array().expect("a list");
    assert!(
        events.iter().any(|event| event["event"] == "released" && event["reason"] == "451 later"),
        "{history}"
    );
    assert!(events.iter().any(|event| event["event"] == "revived"), "{history}");
}

#[test]
fn a_worker_that_never_began_does_not_use_an_attempt_up() {
    let fixture = Fixture::with_queues();
    let id = put(&fixture, "try", json!({"payload": "x", "attempts_max": 1}));
    for _ in 0..3 {
        let lease = lease(&fixture, "try");
        assert_eq!(
            post(&fixture, &format!("/api/leases/{lease}/release"), json!({"not_tried": true}))["outcome"],
            "done"
        );
    }
    assert_eq!(fixture.get(&format!("/api/jobs/{id}")).json()["attempts"], 0);
}

#[test]
fn a_buried_job_waits_for_a_kick() {
    let fixture = Fixture::with_queues();
    put(&fixture, "bury", json!({"payload": "x"}));
    let lease = lease(&fixture, "bury");
    post(&fixture, &format!("/api/leases/{lease}/bury"), json!({"reason": "no such template"}));
    assert!(reserve(&fixture, "bury", json!({})).is_empty());
    let buried = fixture.get("/api/queues/bury/jobs?state=buried").json();
    assert_eq!(buried["jobs"][0]["reason"], "no such template");
    assert_eq!(post(&fixture, "/api/queues/bury/kick", json!({}))["count"], 1);
    assert_eq!(reserve(&fixture, "bury", json!({})).len(), 1);
}

#[test]
fn several_leases_have_an_outcome_each() {
    let fixture = Fixture::with_queues();
    let jobs: Vec<_> = (0..4).map(|n| json!({"payload": n})).collect();
    post(&fixture, "/api/queues/several/jobs", json!({"jobs": jobs}));
    let leases: Vec<_> =
        reserve(&fixture, "several", json!({"max": 4})).iter().map(|job| job["lease"].clone()).collect();
    let extended = post(&fixture, "/api/leases/extend", json!({"leases": leases, "lease_ms": 120_000}));
    assert_eq!(extended["results"].as_array().expect("a list").len(), 4);

    let results = post(&fixture, "/api/leases/settle", json!({"leases": [leases[0], "9-9", leases[1]]}));
    assert_eq!(results["results"][0], json!({"of": leases[0], "outcome": "done"}));
    assert_eq!(results["results"][1]["error"]["type"], "/docs/errors/QUE-021", "{results}");
    assert_eq!(results["results"][2]["outcome"], "done");

    let buried = post(&fixture, "/api/leases/bury", json!({"leases": [leases[2]]}));
    assert_eq!(buried["results"][0]["outcome"], "done");
    let released = post(&fixture, "/api/leases/release", json!({"leases": [leases[3]], "delay_ms": 60_000}));
    assert_eq!(released["results"][0]["outcome"], "done");
    let jobs = fixture.get("/api/queues/several").json()["jobs"].clone();
    assert_eq!(jobs, json!({"total": 2, "delayed": 1, "due": 0, "reserved": 0, "buried": 1, "dead": 0}));

    let ids: Vec<_> = fixture.get("/api/queues/several/jobs").json()["jobs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|job| job["id"].clone())
        .collect();
    let deleted = post(&fixture, "/api/jobs/delete", json!({"jobs": [ids[0], ids[1], "123456789"]}));
    assert_eq!(deleted["results"][0]["outcome"], "done");
    assert_eq!(deleted["results"][2]["error"]["code"], "QUE-021", "{deleted}");
}

#[test]
fn a_forwarded_job_is_in_one_queue_at_a_time() {
    let fixture = Fixture::with_queues();
    let mut id = put(&fixture, "stage-0", json!({"payload": "the message"}));
    // Queues of both shards, most likely.
    for stage in 1..6 {
        let lease = lease(&fixture, &format!("stage-{}", stage - 1));
        let next = format!("stage-{stage}");
        let placed = post(
            &fixture,
            &format!("/api/leases/{lease}/forward"),
            json!({"queue": next, "job": {"priority": 5}}),
        );
        fixture.get(&format!("/api/jobs/{id}")).problem(404, "QUE-021");
        let history = fixture.get(&format!("/api/jobs/{id}/history")).json();
        assert_eq!(history["events"][0]["event"], "forwarded", "{history}");
        id = placed["id"].as_str().expect("an id").to_owned();
        eventually("it is there", || {
            fixture.get(&format!("/api/queues/{next}/jobs")).json()["jobs"][0]["payload"] == "the message"
        });
    }
}

#[test]
fn a_repeated_put_is_the_first_one() {
    let fixture = Fixture::with_queues();
    let path = "/api/queues/once/jobs";
    let key = [("idempotency-key", "order-17")];
    let body = r#"{"jobs": [{"payload": "a"}, {"payload": "b"}]}"#;
    let first = fixture.post_with(path, body, &key);
    assert_eq!(first.status, 201, "{}", first.text);
    let again = fixture.post_with(path, body, &key);
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    let ids = |answer: &support::Answer| -> Vec<Value> {
        answer.json()["jobs"].as_array().expect("a list").iter().map(|job| job["id"].clone()).collect()
    };
    assert_eq!(ids(&first), ids(&again));
    fixture.post_with(path, r#"{"jobs": [{"payload": "c"}]}"#, &key).problem(422, "HTTP-015");
    fixture.post_with(path, body, &[("idempotency-key", "")]).problem(400, "HTTP-016");

    let named = json!({"payload": "a", "dedup_id": "mine", "dedup_window_ms": 60_000}).to_string();
    let first = fixture.post(path, &named);
    assert_eq!((first.status, &first.json()["duplicate"]), (201, &false.into()));
    let again = fixture.post(path, &named);
    assert_eq!((again.status, &again.json()["duplicate"]), (200, &true.into()));
    assert_eq!(first.json()["id"], again.json()["id"]);
    fixture.post(path, r#"{"payload": "z", "dedup_id": "mine"}"#).problem(422, "QUE-024");
    assert_eq!(fixture.get("/api/queues/once").json()["jobs"]["total"], 3);
}

#[test]
fn jobs_are_looked_at_in_pages_by_state_and_key() {
    let fixture = Fixture::with_queues();
    let jobs: Vec<_> = (0..7)
        .map(|n| json!({"payload": format!("{n}-ä-{}", "x".repeat(100)), "key": if n % 2 == 0 { "even" } else { "odd" }}))
        .chain([json!({"payload": "later", "delay_ms": 60_000})])
        .collect();
    post(&fixture, "/api/queues/look/jobs", json!({"jobs": jobs}));
    let first = fixture.get("/api/queues/look/jobs?state=due&limit=5&payload_bytes_max=3").json();
    assert_eq!(first["jobs"].as_array().expect("a list").len(), 5);
    // The ä would be cut in two.
    assert_eq!(
        (&first["jobs"][0]["payload"], &first["jobs"][0]["payload_cut"]),
        (&"0-".into(), &true.into())
    );
    assert_eq!(first["jobs"][0]["payload_bytes"], 105);
    let rest = fixture
        .get(&format!(
            "/api/queues/look/jobs?state=due&limit=5&after={}",
            first["next"].as_str().expect("more")
        ))
        .json();
    assert_eq!((rest["jobs"].as_array().expect("a list").len(), &rest["next"]), (2, &Value::Null));
    let even = fixture.get("/api/queues/look/jobs?key=even").json();
    assert_eq!(even["jobs"].as_array().expect("a list").len(), 4);
    let delayed = fixture.get("/api/queues/look/jobs?state=delayed").json();
    assert_eq!(delayed["jobs"][0]["payload"], "later");
}
