//! etcd as it is installed: one member or three, killed, paused, wiped and started again.
//!
//! The suites look into it and act on it through its JSON gateway, which shares no code with us.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};
use stadium_discovery::Backend;

use super::registry::Registry;
use super::{Process, free_port, mortal, until, until_true};

/// Members that know each other.
pub struct Cluster {
    members: Vec<Member>,
    folder: tempfile::TempDir,
    agent: ureq::Agent,
    /// The certificate and key to serve TLS with, on a port of its own.
    tls: Option<(PathBuf, PathBuf)>,
}

struct Member {
    client: SocketAddr,
    secure: SocketAddr,
    peer: SocketAddr,
    process: Option<Process>,
}

/// A key as etcd holds it.
pub struct Key {
    pub value: String,
    pub lease: String,
}

impl Registry for Cluster {
    fn start(count: usize) -> Self {
        Self::start_with(count, None)
    }

    fn count(&self) -> usize {
        self.members.len()
    }

    fn address(&self, number: usize) -> SocketAddr {
        self.members[number].client
    }

    fn backend_at(&self, addresses: &[SocketAddr]) -> Backend {
        let endpoints = addresses.iter().map(|address| format!("http://{address}")).collect();
        Backend::Etcd { endpoints, user: None, tls: None }
    }

    fn process(&mut self, number: usize) -> &mut Option<Process> {
        &mut self.members[number].process
    }

    fn revive(&mut self, number: usize) {
        let peers: Vec<String> = self
            .members
            .iter()
            .enumerate()
            .map(|(other, member)| format!("{}=http://{}", name(other), member.peer))
            .collect();
        let member = &self.members[number];
        let (plain, peer) = (format!("http://{}", member.client), format!("http://{}", member.peer));
        let mut command = mortal("etcd");
        command
            .args(["--name", &name(number), "--initial-cluster", &peers.join(",")])
            .arg("--data-dir")
            .arg(self.data(number))
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--heartbeat-interval", "60", "--election-timeout", "600", "--logger", "zap"])
            .args(["--advertise-client-urls", &plain]);
        match &self.tls {
            Some((certificate, key)) => {
                command.args(["--listen-client-urls", &format!("{plain},https://{}", member.secure)]);
                command.arg("--cert-file").arg(certificate).arg("--key-file").arg(key);
            }
            None => _ = command.args(["--listen-client-urls", &plain]),
        }
        self.members[number].process = Some(Process::start(&mut command));
    }

    fn data(&self, number: usize) -> PathBuf {
        self.folder.path().join(name(number))
    }

    fn until_ready(&self) {
        until_true("a quorum of etcd", || {
            self.any("/v3/kv/range", json!({"key": BASE64.encode("/")})).is_some()
        });
    }

    fn leader(&self) -> usize {
        until("a leader of etcd", || {
            (0..self.count()).find(|number| {
                let status = self.ask(*number, "/v3/maintenance/status", &json!({}));
                status.is_some_and(|status| {
                    let leader = status.get("leader").cloned().unwrap_or(json!("0"));
                    leader != json!("0") && leader == status["header"]["member_id"]
                })
            })
        })
    }

    fn value(&self, path: &str) -> Option<String> {
        self.key(path).map(|key| key.value)
    }
}

impl Cluster {
    /// One member that also serves TLS.
    pub fn start_with_tls(certificate: PathBuf, key: PathBuf) -> Self {
        Self::start_with(1, Some((certificate, key)))
    }

    fn start_with(count: usize, tls: Option<(PathBuf, PathBuf)>) -> Self {
        let member =
            |_| Member { client: free_port(), secure: free_port(), peer: free_port(), process: None };
        let members = (0..count).map(member).collect();
        let timeout = Duration::from_secs(3);
        let agent = ureq::Agent::config_builder().timeout_global(Some(timeout)).build().into();
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut cluster = Self { members, folder, agent, tls };
        cluster.revive_all();
        cluster.until_ready();
        cluster
    }

    pub fn secure_port(&self) -> u16 {
        self.members[0].secure.port()
    }

    pub fn put(&self, key: &str, value: &str) {
        self.put_with_lease(key, value, "0");
    }

    pub fn put_with_lease(&self, key: &str, value: &str, lease: &str) {
        let body = json!({"key": BASE64.encode(key), "value": BASE64.encode(value), "lease": lease});
        self.act("/v3/kv/put", body);
    }

    /// Puts many keys, in transactions of as many as etcd takes.
    pub fn put_all(&self, keys: &[String], value: &str) {
        for keys in keys.chunks(128) {
            let put = |key: &String| json!({"requestPut": {"key": BASE64.encode(key), "value": BASE64.encode(value)}});
            self.act("/v3/kv/txn", json!({"success": keys.iter().map(put).collect::<Vec<_>>()}));
        }
    }

    /// A lease that nobody keeps.
    pub fn grant(&self, seconds: u64) -> String {
        let answer = self.act("/v3/lease/grant", json!({"TTL": seconds.to_string()}));
        answer["ID"].as_str().expect("an id").to_owned()
    }

    pub fn revoke(&self, lease: &str) {
        self.act("/v3/lease/revoke", json!({"ID": lease}));
    }

    pub fn delete(&self, key: &str) {
        self.act("/v3/kv/deleterange", json!({"key": BASE64.encode(key)}));
    }

    pub fn key(&self, key: &str) -> Option<Key> {
        let answer = self.act("/v3/kv/range", json!({"key": BASE64.encode(key)}));
        let kv = answer.get("kvs")?.get(0)?;
        let value = BASE64.decode(kv["value"].as_str()?).expect("base 64");
        let lease = kv.get("lease").and_then(Json::as_str).unwrap_or("0").to_owned();
        Some(Key { value: String::from_utf8(value).expect("text"), lease })
    }

    /// Forgets all history up to now.
    pub fn compact(&self) {
        let answer = self.act("/v3/kv/range", json!({"key": BASE64.encode("/")}));
        self.act("/v3/kv/compaction", json!({"revision": answer["header"]["revision"]}));
    }

    /// Asks who calls from now on: `user` may do everything.
    pub fn enable_authentication(&self, user: &str, password: &str) {
        self.act("/v3/auth/user/add", json!({"name": "root", "password": password}));
        self.act("/v3/auth/user/grant", json!({"user": "root", "role": "root"}));
        self.act("/v3/auth/user/add", json!({"name": user, "password": password}));
        self.act("/v3/auth/role/add", json!({"name": "services"}));
        let permission = json!({"permType": "READWRITE", "key": BASE64.encode("/services/"),
            "range_end": BASE64.encode("/services0")});
        self.act("/v3/auth/role/grant", json!({"name": "services", "perm": permission}));
        self.act("/v3/auth/user/grant", json!({"user": user, "role": "services"}));
        self.act("/v3/auth/enable", json!({}));
    }

    fn act(&self, path: &str, body: Json) -> Json {
        until(path, || self.any(path, body.clone()))
    }

    fn any(&self, path: &str, body: Json) -> Option<Json> {
        (0..self.count()).find_map(|number| self.ask(number, path, &body))
    }

    fn ask(&self, number: usize, path: &str, body: &Json) -> Option<Json> {
        let url = format!("http://{}{path}", self.members[number].client);
        let mut answer = self.agent.post(&url).send_json(body).ok()?;
        answer.body_mut().read_json().ok()
    }
}

/// What a member is called, and its folder.
fn name(number: usize) -> String {
    format!("member-{number}")
}
