//! Three servers as nodes of a cluster, with a real etcd and a real broker: when they are ready,
//! commands through any of them, keys and tokens that all of them accept, and the death of one.
//!
//! One broker has each partition: the suites of Kafka and of `stadium-cluster` kill brokers.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use stadium_testing::api::Api;
use stadium_testing::certificates::Authority;
use stadium_testing::deadline::until;
use stadium_testing::kafka::{Kafka, Listener};
use stadium_testing::killable::Killable;
use stadium_testing::wallets::{Wallets, transfer};
use stadium_testing::{etcd, ports};
use tempfile::TempDir;

use crate::push_platform::{counts, message, push, reader, register};

/// Shards of each cluster.
pub(crate) const SHARDS: usize = 6;

/// The names of the nodes.
pub(crate) const NODES: [&str; 3] = ["a", "b", "c"];

/// How long to wait for the cluster: for its start, and for a shard of a node that was killed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

static BROKER: LazyLock<Kafka> = LazyLock::new(|| Kafka::start(1).expect("a broker starts"));

/// A cluster whose nodes are servers. What a field holds ends with it, the nodes first.
pub(crate) struct Stage {
    pub(crate) nodes: Vec<Killable>,
    pub(crate) etcd: etcd::Cluster,
    authority: Authority,
    folder: TempDir,
}

impl Stage {
    /// A cluster of three nodes that were started at once, and are not waited for.
    pub(crate) fn start(name: &str) -> Result<Self> {
        Self::with(name, "")
    }

    /// The same, whose nodes have these sections of settings too.
    pub(crate) fn with(name: &str, more: &str) -> Result<Self> {
        let (folder, authority) = (tempfile::tempdir()?, Authority::new()?);
        let etcd = etcd::Cluster::start(1);
        let cluster = json!({
            "id": "00c0ffee00c0ffee",
            "shards": SHARDS,
            "formats": {"log": 1, "checkpoint": 1},
            "feature_level": 1,
        });
        etcd.put(&format!("/stadium/{name}/cluster"), &cluster.to_string());
        let mut stage = Self { nodes: Vec::new(), etcd, authority, folder };
        stage.install(name, "", more)?;
        stage.nodes.iter_mut().try_for_each(Killable::spawn)?;
        Ok(stage)
    }

    /// Ends the nodes. There are those of another cluster of the same etcd then, without data, and
    /// not started. `inside` is added to their section `cluster`, `more` are further sections.
    pub(crate) fn install(&mut self, cluster: &str, inside: &str, more: &str) -> Result<()> {
        self.nodes.clear();
        for node in NODES {
            let place = self.place(cluster, node);
            std::fs::create_dir_all(&place)?;
            let settings = settings((cluster, node, inside), &self.etcd, &self.authority)? + more;
            self.nodes.push(Killable::new(&place, &place.join("data"), &settings)?);
        }
        Ok(())
    }

    /// The folder of a node: its `stadium.toml` and its `data`.
    pub(crate) fn place(&self, cluster: &str, node: &str) -> PathBuf {
        self.folder.path().join(cluster).join(node)
    }

    /// The APIs of all nodes, with the cluster's admin key.
    pub(crate) fn apis(&self) -> Result<Vec<Api>> {
        let made: Vec<_> = self.nodes.iter().map(Killable::admin_key).filter(|file| file.exists()).collect();
        let [file] = &made[..] else { bail!("admin keys of a new cluster: {made:?}") };
        Ok(self.nodes.iter().map(|node| node.api().with_key(file)).collect())
    }

    pub(crate) fn until_ready(&self) -> Result<()> {
        self.nodes.iter().try_for_each(until_ready)
    }
}

/// A whole `stadium.toml` of a node.
fn settings(
    (cluster, node, more): (&str, &str, &str),
    etcd: &etcd::Cluster,
    authority: &Authority,
) -> Result<String> {
    let identity = authority.node(node)?;
    let quoted = |path: &Path| format!("{:?}", path.display().to_string());
    Ok(format!(
        "[cluster]\nname = {cluster:?}\nnode = {node:?}\n{more}\n\
         [cluster.etcd]\nendpoints = {:?}\n\
         [cluster.kafka]\nbrokers = {:?}\nreplication = 1\n\
         [cluster.links]\nlisten = \"{}\"\ncertificate = {}\nkey = {}\nca = {}\n\
         [journal]\nsegment_bytes = 9437184\nreserve_bytes = 262144\n",
        etcd.endpoints(),
        BROKER.bootstrap(Listener::Plain),
        ports::free()?,
        quoted(&identity.certificate),
        quoted(&identity.key),
        quoted(&authority.file()),
    ))
}

pub(crate) fn until_ready(node: &Killable) -> Result<()> {
    let mut last = String::new();
    let ready = until(PATIENCE, "the node to be ready", || {
        let (status, body) = node.api().plain("/readyz")?;
        last = body;
        Ok((status == 200).then_some(()))
    });
    ready.with_context(|| format!("it says {last}\n{}", node.log()))
}

/// Calls again while the shard asked for is on its way from one node to another.
pub(crate) fn answered(mut call: impl FnMut() -> Result<(u16, Value)>) -> Result<Value> {
    until(PATIENCE, "an answer", || {
        let (status, answer) = call()?;
        ensure!(![429, 503, 504].contains(&status), "{status}: {answer}");
        Ok(Some((status, answer)))
    })
    .and_then(|(status, answer)| {
        ensure!((200..300).contains(&status), "{status}: {answer}");
        Ok(answer)
    })
}

/// Puts a job through one node, and has another reserve and a third settle it.
fn work(put: &Api, reserve: &Api, settle: &Api, queue: &str, payload: &str) -> Result<()> {
    let path = format!("/api/queues/{queue}");
    let job = json!({"payload": payload, "dedup_id": payload});
    answered(|| put.post(&format!("{path}/jobs"), &json!({"jobs": [job]})))?;
    let reserving = json!({"max": 1, "lease_ms": 60_000, "wait_ms": 10_000});
    let answer = answered(|| reserve.post(&format!("{path}/reserve"), &reserving))?;
    ensure!(answer["jobs"][0]["payload"] == payload, "{answer}");
    let lease = answer["jobs"][0]["lease"].as_str().context("no lease")?;
    let answer = answered(|| settle.post("/api/leases/settle", &json!({ "leases": [lease] })))?;
    let outcome = &answer["results"][0]["outcome"];
    ensure!(outcome == "done" || outcome == "already", "{answer}");
    Ok(())
}

/// The owners of all shards, as a node shows them; none while a shard has no owner.
pub(crate) fn owners(api: &Api) -> Result<Option<Vec<String>>> {
    let (status, page) = api.read("/api/cluster/shards?limit=1024")?;
    ensure!(status == 200, "{status}: {page}");
    let shards = page["shards"].as_array().context("no shards")?;
    ensure!(shards.len() == SHARDS && page["next"].is_null(), "{page}");
    Ok(shards.iter().map(|shard| shard["owner"].as_str().map(str::to_owned)).collect())
}

/// Waits until all nodes show the same owner for each shard, one of `alive`, and these nodes alive.
pub(crate) fn agree(apis: &[Api], alive: &[&str]) -> Result<()> {
    let mut last = Vec::new();
    let agreed = until(PATIENCE, "all nodes to show the same owners", || {
        last.clear();
        for api in apis {
            let (status, answer) = api.read("/api/cluster")?;
            ensure!(status == 200, "{status}: {answer}");
            let nodes = answer["cluster"]["nodes"].as_array().context("no nodes")?;
            let is_alive =
                |node: &&Value| node["state"] == "alive" && node["alive"]["registered_at"].is_string();
            let names: Vec<_> =
                nodes.iter().filter(is_alive).filter_map(|node| node["node"].as_str()).collect();
            last.push((names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), owners(api)?));
        }
        let is_alive = |owner: &String| alive.contains(&owner.as_str());
        let are_owned =
            |owners: &Option<Vec<String>>| owners.as_ref().is_some_and(|all| all.iter().all(is_alive));
        let holds = last.iter().all(|told| told.0 == alive && are_owned(&told.1) && *told == last[0]);
        Ok(holds.then_some(()))
    });
    agreed.with_context(|| format!("they show {last:?}"))
}

#[test]
fn nodes_are_ready_when_each_shard_has_an_owner_and_hand_theirs_over_on_sigterm() -> Result<()> {
    let mut stage = Stage::start("ready")?;
    stage.until_ready()?;
    let recorded = |stage: &Stage, shard| {
        let entry = stage.etcd.key(&format!("/stadium/ready/map/{shard}"));
        entry.is_some_and(|entry| entry.value.contains("recorded"))
    };
    // A node that became ready last may still be taking over some.
    until(PATIENCE, "an owner of each shard", || {
        Ok((0..SHARDS).all(|shard| recorded(&stage, shard)).then_some(()))
    })?;
    let status = stage.nodes[0].terminate(PATIENCE)?;
    ensure!(status.success(), "{status}: {}", stage.nodes[0].log());
    // Its lease ended with it, and others own its shards.
    ensure!(stage.etcd.key("/stadium/ready/nodes/a").is_none(), "the node is still registered");
    ensure!(stage.nodes[0].log().contains("All shards were handed over"), "{}", stage.nodes[0].log());
    stage.nodes[0].spawn()?;
    until_ready(&stage.nodes[0])
}

/// Devices on all nodes get pushes that were handed to each of them, and what they acknowledge is
/// counted.
fn pushes(nodes: &[Killable], apis: &[Api]) -> Result<()> {
    const DEVICES: usize = 9;
    let name = |number: usize| format!("seat-{number}");
    register(&apis[1], "default", (0..DEVICES).map(name))?;
    let devices = (0..DEVICES).map(|number| reader(nodes[number % nodes.len()].mqtt, &name(number)));
    let mut devices = devices.collect::<Result<Vec<_>>>()?;
    for (place, api) in apis.iter().enumerate() {
        let text = format!("through {place}");
        let id = push(api, "default", &json!({"audience": "all", "message": text}))?;
        for device in &mut devices {
            ensure!(message(device)? == text);
        }
        let other = &apis[(place + 1) % apis.len()];
        counts(other, "default", &id, |counts| counts["delivered"] == DEVICES)?;
    }
    // A device that comes back on another node gets what it missed.
    devices.remove(0).leave()?;
    push(&apis[1], "default", &json!({"audience": {"device": name(0)}, "message": "missed"}))?;
    let mut moved = reader(nodes[2].mqtt, &name(0))?;
    ensure!(message(&mut moved)? == "missed");
    Ok(())
}

#[test]
fn commands_go_through_any_node_and_a_killed_one_loses_nothing() -> Result<()> {
    let mut stage = Stage::start("any")?;
    stage.until_ready()?;
    let apis = stage.apis()?;
    // Queues of several shards, whose owners are different nodes.
    for number in 0..2 * SHARDS {
        let nth = |offset| &apis[(number + offset) % apis.len()];
        work(nth(0), nth(1), nth(2), &format!("queue-{number}"), &format!("job-{number}"))?;
    }

    answered(|| apis[0].put("/api/assets/VOTE", &json!({"scale": 0})))?;
    let wallets: Vec<String> = (0..12).map(|number| format!("wallet-{number}")).collect();
    let opened: Vec<Value> =
        wallets.iter().map(|wallet| json!({"wallet": wallet, "asset": "VOTE"})).collect();
    answered(|| apis[1].post("/api/wallets", &json!({ "accounts": opened })))?;
    let mut number = 0;
    let mut pay = |through: &Api, debit: &str, credit: &str, amount| {
        number += 1;
        answered(|| through.post("/api/transfers", &transfer(number, debit, credit, amount)))
    };
    for (place, wallet) in wallets.iter().enumerate() {
        pay(&apis[place % apis.len()], "@issue", wallet, 100)?;
    }
    pushes(&stage.nodes, &apis)?;
    for api in &apis {
        ensure!(api.metric("stadium_cluster_registered", "")? == 1.0, "a node that is not registered");
        // A link of data to each other node, and one of control.
        ensure!(api.metric("stadium_cluster_link_up", "")? == 4.0, "a link that is down");
        ensure!(api.metric("stadium_cluster_commands_total", "asked")? > 0.0, "nothing was forwarded");
    }
    agree(&apis, &NODES)?;
    stage.nodes[2].kill()?;
    let living = &apis[..2];
    agree(living, &NODES[..2])?;
    for (place, wallet) in wallets.iter().enumerate() {
        let next = &wallets[(place + 1) % wallets.len()];
        pay(&living[place % living.len()], wallet, next, 10)?;
    }
    for (place, api) in living.iter().enumerate() {
        work(api, &living[1 - place], api, "after-the-kill", &format!("late-{place}"))?;
    }
    // The node comes back with its data, and what others did meanwhile is seen through it.
    stage.nodes[2].spawn()?;
    until_ready(&stage.nodes[2])?;
    agree(&apis, &NODES)?;
    let back = Wallets::of(apis[2].clone())?;
    for wallet in &wallets {
        ensure!(back.posted(wallet)? == 100, "{wallet}: {}", back.account(wallet)?);
    }
    back.balanced(PATIENCE)?;
    Ok(())
}

/// Waits until all nodes answer the caller of this file's key with a status: what one node did is
/// seen at the others soon.
fn all_answer(apis: &[Api], file: &Path, path: &str, expected: u16) -> Result<()> {
    for (place, api) in apis.iter().enumerate() {
        let what = format!("{path} to answer {expected} at {}", NODES[place]);
        let caller = api.with_key(file);
        until(PATIENCE, &what, || {
            let (status, answer) = caller.read(path)?;
            ensure!(status == expected, "{status}: {answer}");
            Ok(Some(()))
        })?;
    }
    Ok(())
}

/// Makes a key that may do everything. Its id, and the file with its secret.
fn make_key(api: &Api, folder: &Path, name: &str) -> Result<(String, PathBuf)> {
    let created = answered(|| api.post("/api/keys", &json!({"name": name, "roles": ["admin"]})))?;
    let file = folder.join(name);
    std::fs::write(&file, created["secret"].as_str().context("no secret")?)?;
    Ok((created["key"]["id"].as_str().context("no id")?.to_owned(), file))
}

#[test]
fn keys_and_tokens_are_those_of_all_nodes_also_without_etcd() -> Result<()> {
    let mut stage = Stage::start("keys")?;
    stage.until_ready()?;
    let (apis, folder) = (stage.apis()?, tempfile::tempdir()?);
    let (kept, kept_file) = make_key(&apis[0], folder.path(), "kept")?;
    let (revoked, revoked_file) = make_key(&apis[0], folder.path(), "revoked")?;
    all_answer(&apis, &kept_file, "/api/keys", 200)?;
    all_answer(&apis, &revoked_file, "/api/keys", 200)?;
    let (status, answer) = apis[1].delete(&format!("/api/keys/{revoked}"))?;
    ensure!(status == 204, "{status}: {answer}");
    all_answer(&apis, &revoked_file, "/api/keys", 401)?;

    register(&apis[0], "default", ["phone".to_owned()].into_iter())?;
    let token = answered(|| apis[0].post("/api/apps/default/devices/phone/token", &json!({})))?;
    let token_file = folder.path().join("token");
    std::fs::write(&token_file, token["token"].as_str().context("no token")?)?;
    all_answer(&apis, &token_file, "/api/me/inbox", 200)?;

    // Without etcd, keys are as they were, also at a node that starts.
    stage.etcd.kill(0);
    stage.nodes[2].kill()?;
    stage.nodes[2].spawn()?;
    all_answer(&apis, &kept_file, "/api/keys", 200)?;
    all_answer(&apis, &revoked_file, "/api/keys", 401)?;
    for api in &apis {
        let (status, answer) = api.post("/api/keys", &json!({"name": "late", "roles": ["viewer"]}))?;
        ensure!(status == 503 && answer["code"] == "HTTP-038", "{status}: {answer}");
    }
    let (status, answer) = apis[0].delete(&format!("/api/keys/{kept}"))?;
    ensure!(status == 503 && answer["code"] == "HTTP-038", "{status}: {answer}");
    stage.etcd.revive(0);
    let (_, late_file) = make_key(&apis[2], folder.path(), "late")?;
    all_answer(&apis, &late_file, "/api/keys", 200)?;
    let (_, keys) = apis[0].read("/api/keys")?;
    ensure!(keys["keys"].as_array().is_some_and(|keys| keys.len() == 3), "{keys}");
    Ok(())
}
