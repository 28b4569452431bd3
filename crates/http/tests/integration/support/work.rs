//! Jobs put, reserved and worked on, as most suites about queues need them.

use serde_json::{Value, json};

use super::Fixture;

/// Puts one job and returns its id.
pub fn put(fixture: &Fixture, queue: &str, job: Value) -> String {
    let answer = fixture.post(&format!("/api/queues/{queue}/jobs"), &job.to_string());
    assert_eq!(answer.status, 201, "{}", answer.text);
    let id = answer.json()["id"].as_str().expect("an id is a string").to_owned();
    assert_eq!(answer.header("location"), Some(format!("/api/jobs/{id}").as_str()));
    id
}

/// Reserves and returns the jobs.
pub fn reserve(fixture: &Fixture, queue: &str, body: Value) -> Vec<Value> {
    let answer = fixture.post(&format!("/api/queues/{queue}/reserve"), &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["jobs"].as_array().expect("a list").clone()
}

/// Reserves one job and returns its lease.
pub fn lease(fixture: &Fixture, queue: &str) -> String {
    let jobs = reserve(fixture, queue, json!({}));
    jobs[0]["lease"].as_str().expect("a lease").to_owned()
}

pub fn post(fixture: &Fixture, path: &str, body: Value) -> Value {
    let answer = fixture.post(path, &body.to_string());
    assert!((200..300).contains(&answer.status), "{path}: {}", answer.text);
    if answer.text.is_empty() { Value::Null } else { answer.json() }
}
