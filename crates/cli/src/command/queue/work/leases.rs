//! A worker's requests to the server: reserve, settle, release, bury, extend.
//!
//! The end of a job is reported until the server has answered, for as long as a lease lasts; a
//! repeated report changes nothing. A lease that the server no longer knows is lost: somebody else
//! has the job, or nobody needs it any more.

use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::path_of;
use crate::api::{Api, Ask, Method, Refused, encoded};
use crate::failure::Failure;
use crate::shown::{items, number, text};

/// How long the server is asked to wait for a job. A signal may wait as long as well, because a job
/// that is handed out to a worker that has gone would have to wait for the end of its lease.
pub(super) const WAIT: Duration = Duration::from_secs(2);

/// The same while others of this process run, when it is to end once all is done.
pub(super) const WAIT_WHILE_OTHERS_RUN: Duration = Duration::from_millis(500);

/// When to ask again where no answer came.
pub(super) const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Bytes of an error or a reason, as the server takes them.
pub(super) const ERROR_BYTES_MAX: usize = 1_024;

/// Code of a lease that is lost, and of a job that is gone.
const LOST: [&str; 2] = ["QUE-022", "QUE-021"];

/// A job to work on.
#[derive(Debug, Clone, Default)]
pub(super) struct Job {
    pub(super) id: String,
    pub(super) lease: String,
    pub(super) attempt: u64,
    pub(super) priority: u64,
    pub(super) key: String,
    pub(super) put_at: String,
    pub(super) due_at: String,
    pub(super) payload: Vec<u8>,
}

/// The result of asking for a job.
pub(super) enum Found {
    /// A job.
    Job(Box<Job>),
    /// None was due.
    Nothing,
    /// The server is busy.
    Busy {
        /// When to ask again.
        after: Duration,
        /// With what.
        why: Failure,
    },
    /// No answer came.
    Unanswered(Failure),
    /// It will never work.
    Never(Failure),
}

/// The outcome of a job.
pub(super) struct Reported {
    /// `settled`, `released`, `buried`, `dead` or `lost`.
    pub(super) word: &'static str,
    /// What went wrong.
    pub(super) error: Option<String>,
}

impl Reported {
    /// The job is not ours any more.
    pub(super) fn lost(why: impl Into<String>) -> Self {
        Self { word: "lost", error: Some(why.into()) }
    }
}

/// A queue, as this worker knows it.
pub(super) struct Leases<'a> {
    api: &'a Api,
    queue: &'a str,
    worker: String,
    lease: Duration,
}

impl<'a> Leases<'a> {
    pub(super) fn new(api: &'a Api, queue: &'a str, worker: String, lease: Duration) -> Self {
        Self { api, queue, worker, lease }
    }

    /// A job, waiting for one where none is due.
    pub(super) fn reserve(&self, wait: Duration) -> Found {
        let body = json!({
            "max": 1,
            "lease_ms": self.lease.as_millis() as u64,
            "wait_ms": wait.as_millis() as u64,
            "worker": self.worker,
        });
        match self.post(&path_of(self.queue, "/reserve"), &body) {
            Ok(answer) => match items(&answer, "jobs").next().map(read_job) {
                None => Found::Nothing,
                Some(Ok(job)) => Found::Job(Box::new(job)),
                Some(Err(failure)) => Found::Never(failure),
            },
            Err(Refused::Busy { retry_after, failure }) => Found::Busy { after: retry_after, why: failure },
            Err(Refused::Unanswered(failure)) => Found::Unanswered(failure),
            // A queue is made by its first put, so there will be one.
            Err(Refused::Rejected { code, .. }) if code == "QUE-020" => {
                thread::sleep(wait.min(AGAIN_AFTER));
                Found::Nothing
            }
            Err(Refused::Rejected { failure, .. }) => Found::Never(failure),
        }
    }

    /// The job was never begun: it is due again, and nothing is counted.
    pub(super) fn give_back(&self, job: &Job) {
        // Where the server does not get it, the lease ends by itself.
        let _ = self.report(job, "release", &json!({"not_tried": true, "delay_ms": 0}));
    }

    pub(super) fn settle(&self, job: &Job) -> Reported {
        self.ended("settled", None, self.report(job, "settle", &json!({})))
    }

    pub(super) fn release(&self, job: &Job, error: &str) -> Reported {
        let error = cut(error);
        let answered = self.report(job, "release", &json!({ "error": error }));
        self.ended("released", Some(error), answered)
    }

    pub(super) fn release_untried(&self, job: &Job, error: &str) -> Reported {
        let answered =
            self.report(job, "release", &json!({"not_tried": true, "delay_ms": 0, "error": error}));
        self.ended("released", Some(error.to_owned()), answered)
    }

    pub(super) fn bury(&self, job: &Job, reason: &str) -> Reported {
        let reason = cut(reason);
        let answered = self.report(job, "bury", &json!({ "reason": reason }));
        self.ended("buried", Some(reason), answered)
    }

    fn ended(&self, word: &'static str, error: Option<String>, answered: Result<Value, Failure>) -> Reported {
        match answered {
            Ok(answer) if text(&answer, "outcome") == "dead" => Reported { word: "dead", error },
            Ok(_) => Reported { word, error },
            Err(failure) => Reported::lost(failure.to_string()),
        }
    }

    /// Makes leases last again. Those that are lost; none where the server did not answer.
    pub(super) fn extend(&self, leases: &[String]) -> Option<Vec<String>> {
        let mut lost = Vec::new();
        for some in leases.chunks(1_000) {
            let body = json!({"leases": some, "lease_ms": self.lease.as_millis() as u64});
            let answer = self.post("/api/leases/extend", &body).ok()?;
            for result in items(&answer, "results") {
                if let Some(error) = result.get("error")
                    && LOST.contains(&text(error, "code"))
                {
                    lost.push(text(result, "of").to_owned());
                }
            }
        }
        Some(lost)
    }

    /// Reports something about a job until the server has answered.
    fn report(&self, job: &Job, what: &str, body: &Value) -> Result<Value, Failure> {
        let path = format!("/api/leases/{}/{what}", encoded(&job.lease));
        let until = Instant::now() + self.lease;
        loop {
            let (after, failure) = match self.post(&path, body) {
                Ok(answer) => return Ok(answer),
                Err(Refused::Rejected { failure, .. }) => return Err(failure),
                Err(Refused::Busy { retry_after, failure }) => (retry_after, failure),
                Err(Refused::Unanswered(failure)) => (AGAIN_AFTER, failure),
            };
            if Instant::now() + after >= until {
                return Err(failure);
            }
            thread::sleep(after);
        }
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, Refused> {
        let body = body.to_string();
        self.api.ask(Ask { method: Method::Post, path, body: Some(&body), idempotency_key: None })
    }
}

fn read_job(job: &Value) -> Result<Job, Failure> {
    let payload = match (job.get("payload"), job.get("payload_base64")) {
        (Some(Value::String(text)), _) => text.clone().into_bytes(),
        (_, Some(Value::String(base64))) => STANDARD
            .decode(base64)
            .map_err(|error| Failure::new(format!("the server's base64 cannot be read: {error}")))?,
        _ => Vec::new(),
    };
    let or_empty = |field: &str| job.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    Ok(Job {
        id: or_empty("id"),
        lease: or_empty("lease"),
        attempt: number(job, "attempt"),
        priority: number(job, "priority"),
        key: or_empty("key"),
        put_at: or_empty("put_at"),
        due_at: or_empty("due_at"),
        payload,
    })
}

/// As much of it as the server takes.
fn cut(text: &str) -> String {
    let mut end = text.len().min(ERROR_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_cut_between_characters() {
        assert_eq!(cut("short"), "short");
        let long = cut(&format!("{}é", "x".repeat(ERROR_BYTES_MAX - 1)));
        assert_eq!(long.len(), ERROR_BYTES_MAX - 1);
    }

    #[test]
    fn a_job_is_read_with_its_bytes() {
        let job = read_job(&json!({"id": "7", "lease": "7-1", "attempt": 1, "payload_base64": "/wA="}));
        let job = job.expect("it is a job");
        assert_eq!((job.id.as_str(), job.payload.as_slice()), ("7", &[0xff, 0][..]));
    }
}
