//! Queues as a client sees them: every endpoint over a real socket, answered by real shards on a real disk.
//!
//! What the queues themselves promise is tested in their own crate; here is what JSON and HTTP make of it.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Scene, eventually};

/// Puts one job and returns its id.
fn put(scene: &Scene, queue: &str, job: Value) -> String {
    let answer = scene.post(&format!("/api/queues/{queue}/jobs"), &job.to_string());
    assert_eq!(answer.status, 201, "{}", answer.text);
    let id = answer.json()["id"].as_str().expect("an id is a string").to_owned();
    assert_eq!(answer.header("location"), Some(format!("/api/jobs/{id}").as_str()));
    id
}

/// Reserves and returns the jobs.
fn reserve(scene: &Scene, queue: &str, body: Value) -> Vec<Value> {
    let answer = scene.post(&format!("/api/queues/{queue}/reserve"), &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["jobs"].as_array().expect("a list").clone()
}

/// Reserves one job and returns its lease.
fn lease(scene: &Scene, queue: &str) -> String {
    let jobs = reserve(scene, queue, json!({}));
    jobs[0]["lease"].as_str().expect("a lease").to_owned()
}

fn post(scene: &Scene, path: &str, body: Value) -> Value {
    let answer = scene.post(path, &body.to_string());
    assert!((200..300).contains(&answer.status), "{path}: {}", answer.text);
    if answer.text.is_empty() { Value::Null } else { answer.json() }
}

#[test]
fn a_job_is_put_reserved_and_settled() {
    let scene = Scene::with_queues();
    let id = put(&scene, "mails", json!({"payload": "to seat-0042", "key": "tenant-7", "priority": 9}));
    let job = scene.get(&format!("/api/jobs/{id}")).json();
    assert_eq!(
        (&job["state"], &job["queue"], &job["payload"]),
        (&"due".into(), &"mails".into(), &"to seat-0042".into())
    );
    assert_eq!((&job["key"], &job["priority"], &job["attempts"]), (&"tenant-7".into(), &9.into(), &0.into()));

    let reserved = reserve(&scene, "mails", json!({"max": 10, "lease_ms": 60_000, "worker": "mailer-1"}));
    assert_eq!(reserved.len(), 1);
    assert_eq!((&reserved[0]["id"], &reserved[0]["attempt"]), (&id.as_str().into(), &1.into()));
    assert_eq!(reserved[0]["payload"], "to seat-0042");
    assert!(reserve(&scene, "mails", json!({})).is_empty(), "it is handed out once");
    assert_eq!(scene.get(&format!("/api/jobs/{id}")).json()["state"], "reserved");

    let lease = reserved[0]["lease"].as_str().expect("a lease");
    assert_eq!(post(&scene, &format!("/api/leases/{lease}/settle"), json!({}))["outcome"], "done");
    assert_eq!(post(&scene, &format!("/api/leases/{lease}/settle"), json!({}))["outcome"], "already");
    scene.get(&format!("/api/jobs/{id}")).problem(404, "QUE-021");

    let history = scene.get(&format!("/api/jobs/{id}/history")).json();
    let events: Vec<_> =
        history["events"].as_array().expect("a list").iter().map(|e| e["event"].clone()).collect();
    assert_eq!(events, ["settled", "reserved", "put"]);
    assert_eq!(history["events"][1]["worker"], "mailer-1");
}

#[test]
fn payloads_come_back_as_they_were_put() {
    let scene = Scene::with_queues();
    let cases = [
        (json!({"payload": "héllo \u{0} \"quoted\""}), json!({"payload": "héllo \u{0} \"quoted\""})),
        (json!({"payload": ""}), json!({"payload": ""})),
        (json!({"payload": 5}), json!({"payload": "5"})),
        (json!({"payload_base64": "AP+A"}), json!({"payload_base64": "AP+A"})),
        (json!({"payload_base64": "aGk="}), json!({"payload": "hi"})),
    ];
    let jobs: Vec<_> = cases.iter().map(|(given, _)| given.clone()).collect();
    let placed = post(&scene, "/api/queues/round/jobs", json!({"jobs": jobs}));
    assert_eq!(placed["jobs"].as_array().expect("a list").len(), cases.len());
    // JSON keeps its order and spelling.
    let raw = scene.post("/api/queues/round/jobs", r#"{"payload": {"b": 1.10, "a": [1, 2]}}"#);
    assert_eq!(raw.status, 201, "{}", raw.text);

    let reserved = reserve(&scene, "round", json!({"max": 10}));
    for ((_, expected), job) in cases.iter().zip(&reserved) {
        for field in ["payload", "payload_base64"] {
            assert_eq!(expected.get(field), job.get(field), "{job}");
        }
    }
    assert_eq!(reserved[5]["payload"], r#"{"b": 1.10, "a": [1, 2]}"#);
}

#[test]
fn a_delayed_job_can_be_moved_forward() {
    let scene = Scene::with_queues();
    let later = put(&scene, "later", json!({"payload": "x", "run_at": "2026-12-31T23:59:59.5+01:00"}));
    let job = scene.get(&format!("/api/jobs/{later}")).json();
    assert_eq!((&job["state"], &job["due_at"]), (&"delayed".into(), &"2026-12-31T22:59:59.500Z".into()));
    let soon = put(&scene, "later", json!({"payload": "y", "delay_ms": 3_600_000, "ttl_ms": 7_200_000}));
    assert!(scene.get(&format!("/api/jobs/{soon}")).json()["expires_at"].is_string());
    assert!(reserve(&scene, "later", json!({})).is_empty());

    let edited = scene.send(
        "PATCH",
        &format!("/api/jobs/{later}"),
        r#"{"delay_ms": 0, "payload": "z", "attempts_max": 3}"#,
    );
    assert_eq!(edited.status, 204, "{}", edited.text);
    let reserved = reserve(&scene, "later", json!({}));
    assert_eq!((&reserved[0]["id"], &reserved[0]["payload"]), (&later.as_str().into(), &"z".into()));
    // Somebody works on it now.
    scene.send("PATCH", &format!("/api/jobs/{later}"), r#"{"priority": 1}"#).problem(409, "QUE-023");

    assert_eq!(scene.delete(&format!("/api/jobs/{soon}")).json()["outcome"], "done");
    scene.get(&format!("/api/jobs/{soon}")).problem(404, "QUE-021");
}

#[test]
fn a_waiting_reserve_is_answered_by_the_next_put() {
    let scene = Scene::with_queues();
    scene.put("/api/queues/wait", "{}");
    std::thread::scope(|threads| {
        let waits = threads.spawn(|| reserve(&scene, "wait", json!({"wait_ms": 20_000})));
        eventually("it waits", || scene.get("/api/queues/wait").json()["waiting"] == 1);
        put(&scene, "wait", json!({"payload": "now"}));
        let jobs = waits.join().expect("answered");
        assert_eq!(jobs[0]["payload"], "now");
    });
    let began = Instant::now();
    assert!(reserve(&scene, "wait", json!({"wait_ms": 50})).is_empty());
    assert!(began.elapsed() >= Duration::from_millis(50));
}

#[test]
fn a_client_that_goes_away_takes_its_reserve_back() {
    let scene = Scene::with_queues();
    scene.put("/api/queues/gone", "{}");
    let body = r#"{"wait_ms": 60000}"#;
    let mut socket = TcpStream::connect(scene.address).expect("it listens");
    write!(
        socket,
        "POST /api/queues/gone/reserve HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        scene.admin,
        body.len()
    )
    .expect("it is open");
    eventually("it waits", || scene.get("/api/queues/gone").json()["waiting"] == 1);
    drop(socket);
    eventually("nobody waits", || scene.get("/api/queues/gone").json()["waiting"] == 0);
    put(&scene, "gone", json!({"payload": "x"}));
    let jobs = reserve(&scene, "gone", json!({}));
    assert_eq!(jobs[0]["attempt"], 1, "nobody had it in between");
}

#[test]
fn a_server_that_stops_lets_nobody_wait() {
    let mut scene = Scene::with_queues();
    scene.put("/api/queues/stop", "{}");
    let body = r#"{"wait_ms": 60000}"#;
    let mut socket = TcpStream::connect(scene.address).expect("it listens");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket option");
    write!(
        socket,
        "POST /api/queues/stop/reserve HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        scene.admin,
        body.len()
    )
    .expect("it is open");
    eventually("it waits", || scene.get("/api/queues/stop").json()["waiting"] == 1);
    assert!(scene.stop(), "the wait does not hold it up");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(r#"{"jobs":[]}"#), "{answer}");
}

#[test]
fn a_job_that_fails_is_tried_again_then_dead_and_redriven() {
    let scene = Scene::with_queues();
    let id = put(&scene, "fails", json!({"payload": "x", "attempts_max": 2}));
    let first = lease(&scene, "fails");
    let released =
        post(&scene, &format!("/api/leases/{first}/release"), json!({"delay_ms": 0, "error": "451 later"}));
    assert_eq!(released["outcome"], "done");
    assert_eq!(scene.get(&format!("/api/jobs/{id}")).json()["reason"], "451 later");
    scene.post(&format!("/api/leases/{first}/extend"), r#"{"lease_ms": 5000}"#).problem(409, "QUE-022");

    let second = lease(&scene, "fails");
    let released = post(&scene, &format!("/api/leases/{second}/release"), json!({"error": "550 never"}));
    assert_eq!(released["outcome"], "dead");
    let dead = scene.get("/api/queues/fails/jobs?state=dead").json();
    assert_eq!((&dead["jobs"][0]["id"], &dead["jobs"][0]["attempts"]), (&id.as_str().into(), &2.into()));
    assert!(dead["jobs"][0]["reason"].as_str().expect("a reason").contains("550 never"), "{dead}");

    assert_eq!(post(&scene, "/api/queues/fails/redrive", json!({"jobs": [id]}))["count"], 1);
    assert_eq!(reserve(&scene, "fails", json!({}))[0]["attempt"], 1, "attempts start anew");
    let history = scene.get(&format!("/api/jobs/{id}/history")).json();
    let events = history["events"].as_array().expect("a list");
    assert!(
        events.iter().any(|event| event["event"] == "released" && event["reason"] == "451 later"),
        "{history}"
    );
    assert!(events.iter().any(|event| event["event"] == "revived"), "{history}");
}

#[test]
fn a_worker_that_never_began_does_not_use_an_attempt_up() {
    let scene = Scene::with_queues();
    let id = put(&scene, "try", json!({"payload": "x", "attempts_max": 1}));
    for _ in 0..3 {
        let lease = lease(&scene, "try");
        assert_eq!(
            post(&scene, &format!("/api/leases/{lease}/release"), json!({"not_tried": true}))["outcome"],
            "done"
        );
    }
    assert_eq!(scene.get(&format!("/api/jobs/{id}")).json()["attempts"], 0);
}

#[test]
fn a_buried_job_waits_for_a_kick() {
    let scene = Scene::with_queues();
    put(&scene, "bury", json!({"payload": "x"}));
    let lease = lease(&scene, "bury");
    post(&scene, &format!("/api/leases/{lease}/bury"), json!({"reason": "no such template"}));
    assert!(reserve(&scene, "bury", json!({})).is_empty());
    let buried = scene.get("/api/queues/bury/jobs?state=buried").json();
    assert_eq!(buried["jobs"][0]["reason"], "no such template");
    assert_eq!(post(&scene, "/api/queues/bury/kick", json!({}))["count"], 1);
    assert_eq!(reserve(&scene, "bury", json!({})).len(), 1);
}

#[test]
fn several_leases_have_an_outcome_each() {
    let scene = Scene::with_queues();
    let jobs: Vec<_> = (0..4).map(|n| json!({"payload": n})).collect();
    post(&scene, "/api/queues/several/jobs", json!({"jobs": jobs}));
    let leases: Vec<_> =
        reserve(&scene, "several", json!({"max": 4})).iter().map(|job| job["lease"].clone()).collect();
    let extended = post(&scene, "/api/leases/extend", json!({"leases": leases, "lease_ms": 120_000}));
    assert_eq!(extended["results"].as_array().expect("a list").len(), 4);

    let results = post(&scene, "/api/leases/settle", json!({"leases": [leases[0], "9-9", leases[1]]}));
    assert_eq!(results["results"][0], json!({"of": leases[0], "outcome": "done"}));
    assert_eq!(results["results"][1]["error"]["type"], "/docs/errors/QUE-021", "{results}");
    assert_eq!(results["results"][2]["outcome"], "done");

    let buried = post(&scene, "/api/leases/bury", json!({"leases": [leases[2]]}));
    assert_eq!(buried["results"][0]["outcome"], "done");
    let released = post(&scene, "/api/leases/release", json!({"leases": [leases[3]], "delay_ms": 60_000}));
    assert_eq!(released["results"][0]["outcome"], "done");
    let jobs = scene.get("/api/queues/several").json()["jobs"].clone();
    assert_eq!(jobs, json!({"total": 2, "delayed": 1, "due": 0, "reserved": 0, "buried": 1, "dead": 0}));

    let ids: Vec<_> = scene.get("/api/queues/several/jobs").json()["jobs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|job| job["id"].clone())
        .collect();
    let deleted = post(&scene, "/api/jobs/delete", json!({"jobs": [ids[0], ids[1], "123456789"]}));
    assert_eq!(deleted["results"][0]["outcome"], "done");
    assert_eq!(deleted["results"][2]["error"]["code"], "QUE-021", "{deleted}");
}

#[test]
fn a_forwarded_job_is_in_one_queue_at_a_time() {
    let scene = Scene::with_queues();
    let mut id = put(&scene, "stage-0", json!({"payload": "the message"}));
    // Queues of both shards, most likely.
    for stage in 1..6 {
        let lease = lease(&scene, &format!("stage-{}", stage - 1));
        let next = format!("stage-{stage}");
        let placed = post(
            &scene,
            &format!("/api/leases/{lease}/forward"),
            json!({"queue": next, "job": {"priority": 5}}),
        );
        scene.get(&format!("/api/jobs/{id}")).problem(404, "QUE-021");
        let history = scene.get(&format!("/api/jobs/{id}/history")).json();
        assert_eq!(history["events"][0]["event"], "forwarded", "{history}");
        id = placed["id"].as_str().expect("an id").to_owned();
        eventually("it is there", || {
            scene.get(&format!("/api/queues/{next}/jobs")).json()["jobs"][0]["payload"] == "the message"
        });
    }
}

#[test]
fn a_repeated_put_is_the_first_one() {
    let scene = Scene::with_queues();
    let path = "/api/queues/once/jobs";
    let key = [("idempotency-key", "order-17")];
    let body = r#"{"jobs": [{"payload": "a"}, {"payload": "b"}]}"#;
    let first = scene.post_with(path, body, &key);
    assert_eq!(first.status, 201, "{}", first.text);
    let again = scene.post_with(path, body, &key);
    assert_eq!((again.status, again.header("idempotent-replayed")), (200, Some("true")));
    let ids = |answer: &support::Answer| -> Vec<Value> {
        answer.json()["jobs"].as_array().expect("a list").iter().map(|job| job["id"].clone()).collect()
    };
    assert_eq!(ids(&first), ids(&again));
    scene.post_with(path, r#"{"jobs": [{"payload": "c"}]}"#, &key).problem(422, "HTTP-015");
    scene.post_with(path, body, &[("idempotency-key", "")]).problem(400, "HTTP-016");

    let named = json!({"payload": "a", "dedup_id": "mine", "dedup_window_ms": 60_000}).to_string();
    let first = scene.post(path, &named);
    assert_eq!((first.status, &first.json()["duplicate"]), (201, &false.into()));
    let again = scene.post(path, &named);
    assert_eq!((again.status, &again.json()["duplicate"]), (200, &true.into()));
    assert_eq!(first.json()["id"], again.json()["id"]);
    scene.post(path, r#"{"payload": "z", "dedup_id": "mine"}"#).problem(422, "QUE-024");
    assert_eq!(scene.get("/api/queues/once").json()["jobs"]["total"], 3);
}

#[test]
fn a_queue_is_declared_shown_emptied_and_dropped() {
    let scene = Scene::with_queues();
    scene.get("/api/queues/own").problem(404, "QUE-020");
    let settings = json!({
        "lease_ms": 5_000, "attempts_max": 3, "backoff": {"first_ms": 100, "factor": 3.0}, "dead_letter": {"queue": "own.dead"},
        "jobs_max": 2, "limit": {"rate": 1_000.0}, "key_limit": {"rate": 0.5, "burst": 2},
    });
    let made = scene.put("/api/queues/own", &settings.to_string());
    assert_eq!(made.status, 200, "{}", made.text);
    let shown = scene.get("/api/queues/own").json();
    assert_eq!(shown["settings"]["lease_ms"], 5_000);
    assert_eq!(
        shown["settings"]["backoff"],
        json!({"first_ms": 100, "factor": 3.0, "max_ms": 600_000, "jitter": 0.5})
    );
    assert_eq!(shown["settings"]["dead_letter"], json!({"queue": "own.dead"}));
    assert_eq!(shown["settings"]["limit"], json!({"rate": 1_000.0, "burst": 1_000}));
    assert_eq!(shown["settings"]["key_limit"], json!({"rate": 0.5, "burst": 2}));
    assert_eq!(shown["settings"]["spread"], "one_shard");

    put(&scene, "own", json!({"payload": "1"}));
    put(&scene, "own", json!({"payload": "2"}));
    let full = scene.post("/api/queues/own/jobs", r#"{"payload": "3"}"#);
    assert!(full.problem(429, "QUE-040")["retry_after_s"].as_u64().expect("seconds") >= 1);
    assert!(full.header("retry-after").is_some());
    scene.delete("/api/queues/own").problem(409, "QUE-025");
    assert_eq!(post(&scene, "/api/queues/own/purge", json!({"state": "due"}))["count"], 2);
    eventually("the queue can be dropped", || scene.delete("/api/queues/own").status == 204);
    scene.get("/api/queues/own").problem(404, "QUE-020");
    // Nothing said means the defaults.
    assert_eq!(
        scene
            .ask("PUT", "/api/queues/plain", &[("authorization", &format!("Bearer {}", scene.admin))], None)
            .status,
        200
    );
    assert_eq!(scene.get("/api/queues/plain").json()["settings"]["jobs_max"], 10_000_000);
}

#[test]
fn a_paused_queue_hands_nothing_out() {
    let scene = Scene::with_queues();
    put(&scene, "pause", json!({"payload": "x"}));
    assert_eq!(scene.post("/api/queues/pause/pause", "").status, 204);
    assert_eq!(scene.get("/api/queues/pause").json()["paused"], true);
    put(&scene, "pause", json!({"payload": "y"}));
    assert!(reserve(&scene, "pause", json!({})).is_empty());
    assert_eq!(scene.post("/api/queues/pause/resume", "").status, 204);
    assert_eq!(reserve(&scene, "pause", json!({"max": 5})).len(), 2);
}

#[test]
fn queues_are_listed_in_pages_and_found_by_a_part_of_their_name() {
    let scene = Scene::with_queues();
    for n in 0..25 {
        assert_eq!(scene.put(&format!("/api/queues/tenant-{n:02}.Mails"), "{}").status, 200);
    }
    let mut names = Vec::new();
    let mut after = String::new();
    loop {
        let page = scene.get(&format!("/api/queues?limit=10{after}")).json();
        names.extend(page["queues"].as_array().expect("a list").iter().map(|queue| queue["name"].clone()));
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(names.len(), 25);
    assert!(names.is_sorted_by_key(|name| name.as_str().map(ToOwned::to_owned)), "{names:?}");

    let found = scene.get("/api/queues?search=t-1&limit=4").json();
    assert_eq!(found["queues"].as_array().expect("a list").len(), 4);
    let rest =
        scene.get(&format!("/api/queues?search=T-1&after={}", found["next"].as_str().expect("more"))).json();
    assert_eq!(rest["queues"].as_array().expect("a list").len(), 6);
    assert_eq!(rest["next"], Value::Null);
}

#[test]
fn jobs_are_looked_at_in_pages_by_state_and_key() {
    let scene = Scene::with_queues();
    let jobs: Vec<_> = (0..7)
        .map(|n| json!({"payload": format!("{n}-ä-{}", "x".repeat(100)), "key": if n % 2 == 0 { "even" } else { "odd" }}))
        .chain([json!({"payload": "later", "delay_ms": 60_000})])
        .collect();
    post(&scene, "/api/queues/look/jobs", json!({"jobs": jobs}));
    let first = scene.get("/api/queues/look/jobs?state=due&limit=5&payload_bytes_max=3").json();
    assert_eq!(first["jobs"].as_array().expect("a list").len(), 5);
    // The ä would be cut in two.
    assert_eq!(
        (&first["jobs"][0]["payload"], &first["jobs"][0]["payload_cut"]),
        (&"0-".into(), &true.into())
    );
    assert_eq!(first["jobs"][0]["payload_bytes"], 105);
    let rest = scene
        .get(&format!(
            "/api/queues/look/jobs?state=due&limit=5&after={}",
            first["next"].as_str().expect("more")
        ))
        .json();
    assert_eq!((rest["jobs"].as_array().expect("a list").len(), &rest["next"]), (2, &Value::Null));
    let even = scene.get("/api/queues/look/jobs?key=even").json();
    assert_eq!(even["jobs"].as_array().expect("a list").len(), 4);
    let delayed = scene.get("/api/queues/look/jobs?state=delayed").json();
    assert_eq!(delayed["jobs"][0]["payload"], "later");
}

#[test]
fn a_schedule_is_set_replaced_and_ended() {
    let scene = Scene::with_queues();
    let path = "/api/queues/news/schedules/friday%20evening";
    let set = scene.put(path, r#"{"cron": "0 20 * * FRI", "time_zone": "Europe/Berlin", "missed": "skip", "job": {"payload": "x"}}"#);
    assert_eq!(set.status, 204, "{}", set.text);
    let shown = scene.get("/api/queues/news/schedules").json();
    let schedule = &shown["schedules"][0];
    assert_eq!(
        (&schedule["name"], &schedule["time_zone"]),
        (&"friday evening".into(), &"Europe/Berlin".into())
    );
    assert_eq!((&schedule["missed"], &schedule["last_at"]), (&"skip".into(), &Value::Null));
    assert!(schedule["next_at"].is_string());
    assert_eq!(scene.put(path, r#"{"cron": "@hourly", "job": {"payload": "y"}}"#).status, 204);
    let shown = scene.get("/api/queues/news/schedules").json();
    assert_eq!(shown["schedules"].as_array().expect("a list").len(), 1);
    assert_eq!(
        (&shown["schedules"][0]["cron"], &shown["schedules"][0]["time_zone"]),
        (&"@hourly".into(), &"UTC".into())
    );

    scene.put(path, r#"{"cron": "every day", "job": {"payload": "x"}}"#).problem(422, "QUE-011");
    scene
        .put(path, r#"{"cron": "@daily", "time_zone": "Moon/Sea", "job": {"payload": "x"}}"#)
        .problem(422, "QUE-012");
    let wrong = scene
        .put(path, r#"{"cron": "@daily", "job": {"payload": "x", "delay_ms": 1}}"#)
        .problem(422, "HTTP-005");
    assert_eq!(wrong["path"], "job.delay_ms");
    assert_eq!(scene.delete(path).status, 204);
    scene.delete(path).problem(404, "QUE-026");
}

#[test]
fn what_is_wrong_is_named_and_nothing_happens() {
    let scene = Scene::with_queues();
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
        let problem = scene.post(jobs, &body).problem(status, code);
        assert_eq!(
            problem.get("path").and_then(Value::as_str).filter(|path| !path.is_empty()),
            path,
            "{body}: {problem}"
        );
    }
    let many: Vec<_> = (0..1_001).map(|n| json!({"payload": n})).collect();
    scene.post(jobs, &json!({"jobs": many}).to_string()).problem(422, "QUE-001");
    let large = json!({"payload": "x".repeat((1 << 20) + 1)}).to_string();
    scene.post(jobs, &large).problem(413, "QUE-004");
    scene.get("/api/queues/q").problem(404, "QUE-020");

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
        scene.post(path, body).problem(status, code);
    }
    scene.post("/api/leases/18446744073709551615-1/settle", "").problem(404, "SHARD-009");
    scene.put("/api/queues/q", r#"{"lease_ms": 1}"#).problem(422, "QUE-010");
    scene.put("/api/queues/q", r#"{"leese_ms": 1000}"#).problem(422, "HTTP-005");
    for (path, code) in [
        ("/api/queues?limit=0", "HTTP-017"),
        ("/api/queues?order=up", "HTTP-017"),
        ("/api/queues/q/jobs?state=done", "HTTP-017"),
        ("/api/queues/q/jobs?after=x", "HTTP-017"),
        ("/api/live/queues?sort=colour", "HTTP-017"),
        ("/api/live/queues?skip=-1", "HTTP-017"),
    ] {
        scene.get(path).problem(400, code);
    }
    scene.get("/api/jobs/x").problem(422, "HTTP-028");
    scene.get("/api/jobs/5/history").problem(404, "QUE-021");
}

#[test]
fn roles_say_who_may_look_work_and_purge() {
    let scene = Scene::with_queues();
    put(&scene, "roles", json!({"payload": "x"}));
    let secret = |role: &str| {
        let made = scene.post("/api/keys", &format!(r#"{{"name": "{role}", "role": "{role}"}}"#));
        format!("Bearer {}", made.json()["secret"].as_str().expect("a secret"))
    };
    let (reader, sender) = (secret("read"), secret("send"));
    let ask = |method: &str, path: &str, key: &str, body: Option<&str>| {
        scene.ask(method, path, &[("authorization", key), ("content-type", "application/json")], body)
    };
    for path in [
        "/api/queues",
        "/api/queues/roles",
        "/api/queues/roles/jobs",
        "/api/live/queues",
        "/api/queues/roles/schedules",
    ] {
        assert_eq!(ask("GET", path, &reader, None).status, 200, "{path}");
        scene.ask("GET", path, &[], None).problem(401, "HTTP-001");
    }
    for path in [
        "/api/queues/roles/jobs",
        "/api/queues/roles/reserve",
        "/api/leases/settle",
        "/api/queues/roles/redrive",
    ] {
        ask("POST", path, &reader, Some("{}")).problem(403, "HTTP-003");
        scene.ask("POST", path, &[], Some("{}")).problem(401, "HTTP-001");
    }
    assert_eq!(ask("POST", "/api/queues/roles/jobs", &sender, Some(r#"{"payload": "y"}"#)).status, 201);
    assert_eq!(ask("POST", "/api/queues/roles/reserve", &sender, Some("{}")).status, 200);
    ask("POST", "/api/queues/roles/purge", &sender, Some("{}")).problem(403, "HTTP-003");
    ask("PUT", "/api/queues/roles", &sender, Some("{}")).problem(403, "HTTP-003");
    ask("DELETE", "/api/queues/roles", &sender, None).problem(403, "HTTP-003");
}

#[test]
fn the_live_figures_have_rates_and_lines() {
    let scene = Scene::with_queues();
    for n in 0..30 {
        put(&scene, if n % 3 == 0 { "calm" } else { "busy" }, json!({"payload": n}));
    }
    eventually("it was looked twice", || {
        put(&scene, "busy", json!({"payload": "more"}));
        let live = scene.get("/api/live/queues").json();
        live["queues"][0]["name"] == "busy"
            && live["queues"][0]["per_s"]["put"].as_f64().is_some_and(|rate| rate > 0.0)
    });
    let live = scene.get("/api/live/queues?sort=name&limit=1&skip=1&search=A").json();
    assert_eq!(
        (&live["queue_count"], &live["found_count"], &live["complete"]),
        (&2.into(), &1.into(), &true.into())
    );
    assert!(live["queues"].as_array().expect("a list").is_empty());
    let calm = scene.get("/api/live/queues?queue=calm").json();
    assert_eq!((&calm["queues"][0]["jobs"]["due"], &calm["found_count"]), (&10.into(), &1.into()));
    assert!(calm["queues"][0]["put_line"].as_array().expect("points").len() >= 2);
    assert_eq!(calm["shards"].as_array().expect("shards").len(), 2);
    assert!(calm["shards"].as_array().expect("shards").iter().all(|shard| shard["serving"] == true));
    assert!(scene.get("/api/live/queues?state=dead").json()["queues"].as_array().expect("a list").is_empty());

    let metrics = scene.get("/metrics").text;
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
    let scene = Scene::begin();
    let answer = scene.get("/api/queues");
    answer.problem(503, "HTTP-026");
    assert_eq!(answer.header("retry-after"), Some("1"));
    scene.post("/api/queues/q/jobs", r#"{"payload": "x"}"#).problem(503, "HTTP-026");
    scene.get("/api/live/queues").problem(503, "HTTP-026");
    assert!(!scene.get("/metrics").text.contains("stadium_queue_jobs"));
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let scene = Scene::with(|config| config.body_bytes_max = 2_000, None);
    let body = json!({"payload": "x".repeat(2_001)}).to_string();
    scene.post("/api/queues/q/jobs", &body).problem(413, "HTTP-007");
    scene.post("/api/queues/q/reserve", &body).problem(413, "HTTP-007");
    scene.put("/api/queues/q", &body).problem(413, "HTTP-007");
}
