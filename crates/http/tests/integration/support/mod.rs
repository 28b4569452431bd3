//! The fixture of the suites: a real server on a port of its own, over the fleet in memory.
//!
//! The server runs in a runtime of its own and stops when the fixture is dropped.

#![allow(dead_code, reason = "each suite uses its part")]

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use stadium_http::fleet::memory::MemoryFleet;
use stadium_http::{Config, Fleet, Queues, Server, SocketTaker};
use stadium_push::live::ClientId;
use stadium_shard::{Settings, Shards};
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

pub mod cluster;
pub mod money;
pub mod work;

/// A running server.
pub struct Fixture {
    pub address: SocketAddr,
    pub fleet: Arc<MemoryFleet>,
    pub admin: String,
    pub data: tempfile::TempDir,
    queues: Queues,
    shards: Option<Shards>,
    stop: Option<oneshot::Sender<()>>,
    stopped: Mutex<std::sync::mpsc::Receiver<()>>,
    runtime: Option<Runtime>,
}

/// An answer: status, headers, text.
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Each value of a header.
    pub fn headers(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Asserts a problem document with this code, and returns it.
    pub fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        let problem = self.json();
        assert_eq!(problem["code"], code, "{problem}");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("/docs/errors/{code}"), "its page, see api.rs");
        problem
    }
}

impl Fixture {
    pub fn begin() -> Self {
        Self::with(|_| {}, None)
    }

    pub fn with(change: impl FnOnce(&mut Config), taker: Option<Arc<dyn SocketTaker>>) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let fleet = Arc::new(MemoryFleet::new());
        let mut config = Config::new(([127, 0, 0, 1], 0).into(), data.path());
        config.drain_timeout = Duration::from_secs(5);
        change(&mut config);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime starts");
        let bound = runtime.block_on(Server::bind(config, Arc::clone(&fleet) as Arc<dyn Fleet>, taker));
        let server = bound.expect("it binds");
        let (address, queues) = (server.address(), server.queues());
        let (stop, stop_asked) = oneshot::channel::<()>();
        let (ended, stopped) = std::sync::mpsc::channel();
        runtime.spawn(async move {
            server.run(async { drop(stop_asked.await) }).await;
            let _ = ended.send(());
        });
        let admin = std::fs::read_to_string(data.path().join("admin.key")).expect("made at the first start");
        let admin = admin.trim().to_owned();
        let (shards, stopped) = (None, Mutex::new(stopped));
        Self {
            address,
            fleet,
            admin,
            data,
            queues,
            shards,
            stop: Some(stop),
            stopped,
            runtime: Some(runtime),
        }
    }

    /// A server with two shards on a disk of their own, small enough for a test.
    pub fn with_queues() -> Self {
        Self::begin().and_queues()
    }

    /// The same server, with two such shards.
    pub fn and_queues(mut self) -> Self {
        let mut settings = Settings::in_directory(self.data.path().join("shards"), 2);
        settings.journal.segment_bytes = 4 << 20;
        settings.journal.reserve_bytes = 1 << 20;
        settings.journal.record_bytes_max = 3 << 20;
        let shards = Shards::open(settings, |_, _| {}).expect("the shards start");
        self.queues.serve(shards.clone());
        self.shards = Some(shards);
        self
    }

    /// Puts JSON as the admin.
    pub fn put(&self, path: &str, json: &str) -> Answer {
        self.send("PUT", path, json)
    }

    pub fn send(&self, method: &str, path: &str, json: &str) -> Answer {
        let bearer = format!("Bearer {}", self.admin);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        self.ask(method, path, &headers, Some(json))
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Asks as the admin.
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[("authorization", &format!("Bearer {}", self.admin))], None)
    }

    /// Posts JSON as the admin.
    pub fn post(&self, path: &str, json: &str) -> Answer {
        self.post_with(path, json, &[])
    }

    pub fn post_with(&self, path: &str, json: &str, more: &[(&str, &str)]) -> Answer {
        let bearer = format!("Bearer {}", self.admin);
        let mut headers = vec![("authorization", bearer.as_str()), ("content-type", "application/json")];
        headers.extend(more);
        self.ask("POST", path, &headers, Some(json))
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.ask("DELETE", path, &[("authorization", &format!("Bearer {}", self.admin))], None)
    }

    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_global(Some(Duration::from_secs(20)))
            .build()
            .new_agent();
        let mut request = ureq::http::Request::builder().method(method).uri(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let sent = match body {
            Some(body) => agent.run(request.body(body.to_owned()).expect("a request")),
            None => agent.run(request.body(()).expect("a request")),
        };
        let mut response = sent.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let text_of = |value: &ureq::http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
        Answer {
            status: response.status().as_u16(),
            headers: response
                .headers()
                .iter()
                .map(|(name, value)| (name.to_string(), text_of(value)))
                .collect(),
            text: response.body_mut().read_to_string().expect("text"),
        }
    }

    /// Asks the server to stop and waits until it has.
    pub fn stop(&mut self) -> bool {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        let stopped = self.stopped.lock().expect("nobody fails while it is held");
        stopped.recv_timeout(Duration::from_secs(8)).is_ok()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(runtime) = self.runtime.take() {
            // It writes to the folder until it has ended.
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
        if let Some(shards) = self.shards.take() {
            shards.stop(Duration::from_secs(20));
        }
    }
}

/// A device's id.
pub fn device(id: &str) -> ClientId {
    ClientId::new(id).expect("a good id")
}

/// Waits until something holds, at most ten seconds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < deadline, "not in ten seconds: {what}");
        std::thread::yield_now();
    }
}
