//! etcd as it is installed: one member or three, killed, paused, wiped and started again.
//!
//! The suites look into it and act on it through its JSON gateway, which shares no code with the product.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value as Json, json};
use stadium_local_services::Machine;
use stadium_local_services::etcd::Member as Arguments;

use crate::deadline::{must_find as until, must_hold as until_true};
use crate::mortal::{self, Mortal};
use crate::ports;

/// Members that know each other. They end with their owner.
pub struct Cluster {
    program: PathBuf,
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
    process: Option<Mortal>,
}

/// A key as etcd holds it.
pub struct Key {
    /// Its text.
    pub value: String,
    /// The lease that it lives with; `0` where it has none.
    pub lease: String,
}

impl Cluster {
    /// Starts `count` members and waits until they serve.
    pub fn start(count: usize) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into(), count)
    }

    /// The same at an address of this machine, or of the network namespace that the thread is in.
    pub fn start_at(address: IpAddr, count: usize) -> Self {
        Self::start_with(address, count, None)
    }

    /// One member that also serves TLS.
    pub fn start_with_tls(certificate: PathBuf, key: PathBuf) -> Self {
        Self::start_with(Ipv4Addr::LOCALHOST.into(), 1, Some((certificate, key)))
    }

    fn start_with(address: IpAddr, count: usize, tls: Option<(PathBuf, PathBuf)>) -> Self {
        let free_port = || ports::free_at(address).expect("a free port");
        let member =
            |_| Member { client: free_port(), secure: free_port(), peer: free_port(), process: None };
        let members = (0..count).map(member).collect();
        let timeout = Duration::from_secs(3);
        let agent = ureq::Agent::config_builder().timeout_global(Some(timeout)).build().into();
        let folder = tempfile::tempdir().expect("a temporary folder");
        // Debian's package etcd-server installs it.
        let program = Machine::this().etcd().unwrap_or_else(|missing| panic!("{missing}"));
        let mut cluster = Self { program, members, folder, agent, tls };
        (0..count).for_each(|number| cluster.revive(number));
        cluster.until_ready();
        cluster
    }

    /// How many members it has, living or dead.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// Where a member serves its clients.
    pub fn address(&self, number: usize) -> SocketAddr {
        self.members[number].client
    }

    /// Where all members serve their clients.
    pub fn endpoints(&self) -> Vec<String> {
        self.members.iter().map(|member| format!("http://{}", member.client)).collect()
    }

    /// A member's process; none while it is dead.
    pub fn process(&mut self, number: usize) -> &mut Option<Mortal> {
        &mut self.members[number].process
    }

    /// Kills a member with SIGKILL.
    pub fn kill(&mut self, number: usize) {
        self.members[number].process = None;
    }

    /// Stops a member where it stands; its connections stay open and silent.
    pub fn pause(&mut self, number: usize) {
        self.members[number].process.as_ref().expect("a living member").pause();
    }

    /// Lets a member that was stopped go on.
    pub fn go_on(&mut self, number: usize) {
        self.members[number].process.as_ref().expect("a living member").go_on();
    }

    /// Starts a member that was killed, with the data that it has.
    pub fn revive(&mut self, number: usize) {
        let members: Vec<_> =
            (self.members.iter().enumerate()).map(|(other, member)| (name(other), member.peer)).collect();
        let member = &self.members[number];
        let tls = self.tls.as_ref();
        let mut command = mortal::command(&self.program);
        let arguments = Arguments {
            name: &name(number),
            data: &self.data(number),
            client: member.client,
            secure: tls.map(|(certificate, key)| (member.secure, &**certificate, &**key)),
            peer: member.peer,
            members: &members,
        };
        arguments.arguments(&mut command);
        self.members[number].process = Some(Mortal::start(&mut command));
    }

    /// The folder that holds what a member stores, and nothing else.
    pub fn data(&self, number: usize) -> PathBuf {
        self.folder.path().join(name(number))
    }

    /// Waits until the members have a leader and answer.
    pub fn until_ready(&self) {
        until_true("a quorum of etcd", || {
            self.any("/v3/kv/range", json!({"key": BASE64.encode("/")})).is_some()
        });
    }

    /// The number of the leader.
    pub fn leader(&self) -> usize {
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

    /// The port of the member that serves TLS.
    pub fn secure_port(&self) -> u16 {
        self.members[0].secure.port()
    }

    /// Puts a key that stays.
    pub fn put(&self, key: &str, value: &str) {
        self.put_with_lease(key, value, "0");
    }

    /// Puts a key that goes with a lease.
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

    /// Ends a lease, and the keys that it has.
    pub fn revoke(&self, lease: &str) {
        self.act("/v3/lease/revoke", json!({"ID": lease}));
    }

    /// Deletes a key.
    pub fn delete(&self, key: &str) {
        self.act("/v3/kv/deleterange", json!({"key": BASE64.encode(key)}));
    }

    /// What etcd holds under a key; none where there is no such key.
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

    /// Asks who calls from now on: `user` may do everything below `prefix`.
    pub fn enable_authentication(&self, user: &str, password: &str, prefix: &str) {
        self.act("/v3/auth/user/add", json!({"name": "root", "password": password}));
        self.act("/v3/auth/user/grant", json!({"user": "root", "role": "root"}));
        self.act("/v3/auth/user/add", json!({"name": user, "password": password}));
        self.act("/v3/auth/role/add", json!({"name": "below"}));
        let permission = json!({"permType": "READWRITE", "key": BASE64.encode(format!("{prefix}/")),
            "range_end": BASE64.encode(format!("{prefix}0"))});
        self.act("/v3/auth/role/grant", json!({"name": "below", "perm": permission}));
        self.act("/v3/auth/user/grant", json!({"user": user, "role": "below"}));
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
