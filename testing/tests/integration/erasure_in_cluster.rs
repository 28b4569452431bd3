//! A named user exported and erased on a cluster of three servers: what each node has alone, the
//! death of the node that took the erasure, nodes that are away, and one that never comes back.

use std::net::SocketAddr;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::api::Api;
use stadium_testing::deadline::until;
use stadium_testing::device::Device;
use stadium_testing::wire::{Connect, Publish, Version};

use crate::cluster::{NODES, PATIENCE, Stage, agree, answered, until_ready};
use crate::erasure::{count, device, furnish, kept, receipt, removed, stadium};

/// Gives a user on each node a device with a session, a message in it and a retained message; and
/// jobs and pushes, which are the cluster's.
fn furnish_all(stage: &Stage, apis: &[Api], user: &str) -> Result<()> {
    for (place, node) in stage.nodes.iter().enumerate() {
        let other = &apis[(place + 1) % apis.len()];
        let phone = format!("{user}-on-{}", NODES[place]);
        let mut away = device((other, node.mqtt), &phone, user)?;
        away.subscribe(&["news/#"], 1)?;
        let topic = format!("lamps/{phone}");
        away.publish(&Publish::new(&topic, b"on").qos(1, 7).retained())?;
        away.leave()?;
        let mut publisher = Device::clean(node.mqtt, Version::V5, "publisher")?;
        publisher.publish(&Publish::new("news/1", phone.as_bytes()).qos(1, 9))?;
        answered(|| {
            let push = json!({"audience": {"device": phone}, "notification": {"title": phone}});
            other.post("/api/apps/default/pushes", &push)
        })?;
        let job = json!({"jobs": [{"payload": phone, "key": user, "dedup_id": phone}]});
        answered(|| other.post(&format!("/api/queues/mails-{place}/jobs"), &job))?;
    }
    Ok(())
}

/// The lists of an export, and the kinds of a receipt.
const KINDS: [&str; 5] = ["devices", "pushes", "sessions", "retained_messages", "jobs"];

fn counts(document: &Value) -> [usize; 5] {
    KINDS.map(|list| count(document, list))
}

/// An export, also while a link comes back.
fn whole(api: &Api, user: &str) -> Result<Value> {
    answered(|| api.read(&format!("/api/users/{user}/export")))
}

/// Begins an erasure, and returns its id.
fn erase(api: &Api, user: &str) -> Result<String> {
    let begun = answered(|| api.post_keyed(&format!("/api/users/{user}/erase"), user, &json!({})))?;
    Ok(begun["id"].as_str().context("no id")?.to_owned())
}

/// Waits until a running erasure says that it waits for this node.
fn waits_for(api: &Api, id: &str, node: &str) -> Result<()> {
    let mut last = Value::Null;
    let waits = until(PATIENCE, "the erasure to wait for the node", || {
        last = api.read(&format!("/api/erasures/{id}"))?.1;
        ensure!(last["state"] != "finished", "it did not wait");
        let reason = last["waits_for"].as_str().unwrap_or_default();
        Ok(reason.contains(&format!("yet: {node};")).then_some(()))
    });
    waits.with_context(|| last.to_string())
}

/// Whether a client finds a session on this node.
fn has_session(mqtt: SocketAddr, client: &str) -> Result<bool> {
    let connect = Connect { clean: false, ..Connect::new(Version::V5, client) };
    Ok(Device::connect(mqtt, &connect)?.session_present())
}

#[test]
fn a_user_is_exported_and_erased_on_all_nodes_through_any_of_them() -> Result<()> {
    let mut stage = Stage::start("users")?;
    stage.until_ready()?;
    let apis = stage.apis()?;
    furnish_all(&stage, &apis, "ada")?;
    furnish_all(&stage, &apis, "bob")?;
    let mut watcher = Device::clean(stage.nodes[2].mqtt, Version::V5, "watcher")?;
    watcher.subscribe(&["wills/#"], 0)?;
    let mut connected = device((&apis[0], stage.nodes[2].mqtt), "ada-watch", "ada")?;

    for api in &apis {
        let document = whole(api, "ada")?;
        ensure!(counts(&document) == [4, 3, 4, 3, 3], "{document}");
        let mut nodes: Vec<_> = document["retained_messages"]
            .as_array()
            .context("no list")?
            .iter()
            .filter_map(|one| one["node"].as_str())
            .collect();
        nodes.sort_unstable();
        ensure!(nodes == NODES, "{document}");
        ensure!(count(&document, "nodes_not_searched") == 0, "{document}");
        ensure!(!document["devices"].to_string().contains("bob-on"), "{document}");
        // Each node has logged which of the changes came through it.
        ensure!(count(&document, "audit") >= 8, "{document}");
    }
    let plan = answered(|| apis[1].post("/api/users/ada/erase?dry_run=true", &json!({})))?;
    let found = ["devices", "sessions", "retained_messages", "jobs"].map(|kind| plan["found"][kind].clone());
    ensure!(found == [json!(4), json!(4), json!(3), json!(3)], "{plan}");

    let id = erase(&apis[1], "ada")?;
    let signed = receipt(&apis[0], &id)?;
    ensure!(KINDS.map(|kind| removed(&signed, kind)) == [4, 3, 4, 3, 3], "{signed}");
    ensure!(removed(&signed, "session_messages") >= 3 && kept(&signed, "audit_lines"), "{signed}");
    connected.closed(PATIENCE)?;
    watcher.ping().context("a will of the user was published")?;
    let mut keys = Vec::new();
    for (api, node) in apis.iter().zip(&stage.nodes) {
        let document = whole(api, "ada")?;
        ensure!(counts(&document) == [0; 5], "{document}");
        ensure!(counts(&whole(api, "bob")?) == [3; 5]);
        // One receipt, at all nodes, by one key; and the same request is the same erasure.
        ensure!(receipt(api, &id)? == signed);
        ensure!(erase(api, "ada")? == id);
        keys.push(answered(|| api.read("/api/erasures"))?["public_key"].clone());
        let here = NODES[keys.len() - 1];
        ensure!(!has_session(node.mqtt, &format!("ada-on-{here}"))?, "{here}");
    }
    ensure!(keys.iter().all(|key| *key == keys[0]) && signed["public_key"] == keys[0], "{keys:?}");
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("receipt.json").display().to_string();
    std::fs::write(&file, signed.to_string())?;
    let (genuine, text) = stadium(&["user", "receipt", "verify", &file, "--user", "ada"])?;
    ensure!(genuine, "{text}");

    // A user of the same name who comes now is another one: the next start erases nothing.
    furnish((&apis[1], stage.nodes[0].mqtt), "ada")?;
    stage.nodes[0].kill()?;
    stage.nodes[0].spawn()?;
    until_ready(&stage.nodes[0])?;
    let document = whole(&apis[0], "ada")?;
    ensure!(counts(&document) == [1; 5], "{document}");
    Ok(())
}

#[test]
fn an_erasure_outlives_its_node_and_waits_for_those_that_are_away() -> Result<()> {
    let mut stage = Stage::start("away")?;
    stage.until_ready()?;
    let apis = stage.apis()?;
    for user in ["ada", "bob", "eve"] {
        furnish_all(&stage, &apis, user)?;
    }
    // The node that takes it is killed at once; the others go on, and it does its part when it
    // starts.
    let id = erase(&apis[1], "ada")?;
    stage.nodes[1].kill()?;
    let living = [apis[0].clone(), apis[2].clone()];
    agree(&living, &["a", "c"])?;
    waits_for(&apis[0], &id, "b")?;
    let (_, running) = apis[2].read(&format!("/api/erasures/{id}"))?;
    ensure!(running["nodes_done"] == json!(["a", "c"]) && running["user"] == "ada", "{running}");
    stage.nodes[1].spawn()?;
    until_ready(&stage.nodes[1])?;
    ensure!(!has_session(stage.nodes[1].mqtt, "ada-on-b")?, "it served before it erased");
    let signed = receipt(&apis[2], &id)?;
    ensure!(KINDS.map(|kind| removed(&signed, kind)) == [3; 5], "{signed}");
    agree(&apis, &NODES)?;
    for api in &apis {
        ensure!(counts(&whole(api, "ada")?) == [0; 5]);
        ensure!(counts(&whole(api, "bob")?) == [3; 5]);
    }

    // An export says what it lacks, and is refused unless it may.
    stage.nodes[2].kill()?;
    agree(&apis[..2], &NODES[..2])?;
    let (status, refused) = apis[0].read("/api/users/bob/export")?;
    ensure!((status, refused["code"].as_str()) == (503, Some("ERA-004")), "{refused}");
    let (_, partial) = apis[0].read("/api/users/bob/export?away=skip")?;
    ensure!(partial["nodes_not_searched"] == json!(["c"]), "{partial}");
    ensure!(counts(&partial) == [3, 3, 2, 2, 3], "{partial}");
    let id = erase(&apis[0], "bob")?;
    waits_for(&apis[1], &id, "c")?;

    // Without etcd nothing begins.
    stage.etcd.kill(0);
    let (status, refused) = apis[0].post("/api/users/eve/erase", &json!({}))?;
    ensure!((status, refused["code"].as_str()) == (503, Some("ERA-007")), "{status}: {refused}");
    stage.etcd.revive(0);
    stage.etcd.until_ready();
    stage.nodes[2].spawn()?;
    until_ready(&stage.nodes[2])?;
    ensure!(!has_session(stage.nodes[2].mqtt, "bob-on-c")?, "it served before it erased");
    let signed = receipt(&apis[1], &id)?;
    ensure!(KINDS.map(|kind| removed(&signed, kind)) == [3; 5], "{signed}");
    agree(&apis, &NODES)?;
    never_comes_back(&mut stage, &apis)
}

/// An operator takes a node out of the list; it does not serve its sessions any more.
fn never_comes_back(stage: &mut Stage, apis: &[Api]) -> Result<()> {
    let (status, refused) = apis[0].delete("/api/erasures/nodes/c")?;
    ensure!((status, refused["code"].as_str()) == (409, Some("ERA-009")), "{refused}");
    stage.nodes[2].kill()?;
    agree(&apis[..2], &NODES[..2])?;
    let id = erase(&apis[0], "eve")?;
    waits_for(&apis[1], &id, "c")?;
    let (status, refused) = apis[0].delete("/api/erasures/nodes/nobody")?;
    ensure!((status, refused["code"].as_str()) == (404, Some("ERA-010")), "{refused}");
    let (status, answer) = apis[0].delete("/api/erasures/nodes/c")?;
    ensure!(status == 204, "{status}: {answer}");
    let signed = receipt(&apis[1], &id)?;
    ensure!(removed(&signed, "sessions") == 2, "{signed}");
    stage.nodes[2].spawn()?;
    until(PATIENCE, "the node to refuse", || {
        Ok(stage.nodes[2].log().contains("was taken out of the cluster's list").then_some(()))
    })
}

#[test]
fn a_restored_cluster_erases_again_before_it_serves() -> Result<()> {
    let mut stage = Stage::start("lost")?;
    stage.until_ready()?;
    let apis = stage.apis()?;
    for user in ["ada", "bob", "eve"] {
        furnish_all(&stage, &apis, user)?;
    }
    let folder = tempfile::tempdir()?;
    let url = |name: &str| format!("file://{}", folder.path().join(name).display());
    let config = |stage: &Stage, name| stage.place(name, "a").join("stadium.toml").display().to_string();
    let backup = ["cluster", "backup", "--to", &url("backup"), "--config", &config(&stage, "lost")];
    let (done, text) = stadium(&backup)?;
    ensure!(done, "{text}");
    // One erasure finishes behind the backup, another one is under way when all is lost.
    let id = erase(&apis[1], "ada")?;
    let before = receipt(&apis[0], &id)?;
    stage.nodes[2].kill()?;
    agree(&apis[..2], &NODES[..2])?;
    let under_way = erase(&apis[0], "eve")?;
    waits_for(&apis[0], &under_way, "c")?;
    let known = stage.place("lost", "a").join("data");

    stage.install("found", &format!("store = {:?}", url("store")), "")?;
    let (from, config, known) = (url("backup"), config(&stage, "found"), known.display().to_string());
    let restore = ["cluster", "restore", "--from", &from, "--erasures", &known, "--config", &config];
    let (done, text) = stadium(&restore)?;
    ensure!(done, "{text}");
    stage.nodes.iter_mut().try_for_each(stadium_testing::killable::Killable::spawn)?;
    stage.until_ready()?;
    let apis = stage.apis()?;
    for api in &apis {
        ensure!(counts(&whole(api, "ada")?) == [0; 5]);
        ensure!(counts(&whole(api, "eve")?) == [0; 5]);
        // Sessions and retained messages are in no backup.
        ensure!(counts(&whole(api, "bob")?) == [3, 3, 0, 0, 3]);
    }
    let again = receipt(&apis[1], &under_way)?;
    ensure!(again["receipt"]["after_restore"] == true && removed(&again, "devices") == 3, "{again}");
    ensure!(again["public_key"] == before["public_key"], "{again}");
    let mut listed = Value::Null;
    until(PATIENCE, "the erasure of ada to be carried out again", || {
        listed = answered(|| apis[2].read("/api/erasures"))?;
        let all = listed["erasures"].as_array().into_iter().flatten();
        Ok((all.filter(|one| one["state"] == "finished").count() == 2).then_some(()))
    })
    .with_context(|| listed.to_string())
}
