//! The push platform on the built binary: the pushes that absent devices get, over kills too;
//! revoking, expiry, collapse, apps apart.
//!
//! Devices are raw MQTT clients, so that each acknowledgement is the test's own decision.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::api::Api;
use stadium_testing::deadline::{PATIENCE, until, until_true};
use stadium_testing::device::Device;
use stadium_testing::killable::Killable;
use stadium_testing::process::raise_open_files;
use stadium_testing::server::Server;
use stadium_testing::wire::Version;

const SETTINGS: &str = "[shards]\ncount = 2\n[journal]\nsegment_bytes = 16777216\nreserve_bytes = 33554432\n";

/// Registers devices.
pub fn register(api: &Api, app: &str, devices: impl Iterator<Item = String>) -> Result<()> {
    let devices: Vec<Value> = devices.map(|device| json!({ "device": device })).collect();
    for some in devices.chunks(1_000) {
        let (status, answer) = api.post(&format!("/api/apps/{app}/devices"), &json!({ "devices": some }))?;
        ensure!(status == 200, "{status}: {answer}");
    }
    Ok(())
}

/// Hands a push over that must be accepted, and returns its id.
pub fn push(api: &Api, app: &str, body: &Value) -> Result<String> {
    let (status, answer) = api.post(&format!("/api/apps/{app}/pushes"), body)?;
    ensure!(status == 202 && answer["status"] == "accepted", "{status}: {answer}");
    Ok(answer["id"].as_str().context("no id")?.to_owned())
}

/// What became of a push, once `holds` is true of its counts.
pub fn counts(api: &Api, app: &str, id: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
    let mut last = Value::Null;
    let report = until(PATIENCE, "the push's counts", || {
        let (status, report) = api.read(&format!("/api/apps/{app}/pushes/{id}"))?;
        ensure!(status == 200, "{status}: {report}");
        last = report;
        Ok(holds(&last["counts"]).then(|| last.clone()))
    });
    report.with_context(|| format!("last report: {last}"))
}

/// A device that is connected and reads its inbox.
pub fn reader(address: SocketAddr, client_id: &str) -> Result<Device> {
    let mut device = Device::clean(address, Version::V5, client_id)?;
    device.subscribe(&[&format!("inbox/{client_id}")], 1)?;
    Ok(device)
}

/// The next push of a device, acknowledged: its message.
pub fn message(device: &mut Device) -> Result<String> {
    let received = device.take()?;
    ensure!(received.qos == 1, "{received:?}");
    Ok(String::from_utf8(received.payload)?)
}

#[test]
fn a_device_that_was_away_gets_exactly_the_missed_pushes_in_order_also_after_a_kill() -> Result<()> {
    let place = tempfile::tempdir()?;
    let mut server = Killable::new(place.path(), &place.path().join("data"), SETTINGS)?;
    server.start()?;
    let api = server.api();
    register(&api, "default", ["phone", "tablet"].map(String::from).into_iter())?;
    let to_phone = |text: &str, priority: u8| json!({"audience": {"device": "phone"}, "message": text, "options": {"priority": priority}});
    let first = push(&api, "default", &to_phone("first", 4))?;
    push(&api, "default", &to_phone("second", 4))?;
    push(&api, "default", &to_phone("urgent", 9))?;
    let all = push(&api, "default", &json!({"audience": "all", "message": "third"}))?;
    server.kill()?;
    server.start()?;
    counts(&api, "default", &all, |counts| counts["owed"] == 2)?;

    let mut phone = reader(server.mqtt, "phone")?;
    let got = (0..3).map(|_| message(&mut phone)).collect::<Result<Vec<_>>>()?;
    ensure!(got == ["urgent", "first", "second"], "{got:?}");
    // The last one is received and not acknowledged: the device is owed it still.
    ensure!(phone.receive()?.payload == b"third");
    counts(&api, "default", &first, |counts| counts["delivered"] == 1)?;
    drop(phone);
    server.kill()?;
    server.start()?;

    let mut phone = reader(server.mqtt, "phone")?;
    ensure!(message(&mut phone)? == "third");
    phone.ping()?;
    counts(&api, "default", &all, |counts| counts["delivered"] == 1 && counts["owed"] == 1)?;
    phone.leave()?;
    // An acknowledged push is not sent again; the next one is.
    push(&api, "default", &to_phone("fourth", 0))?;
    let mut phone = reader(server.mqtt, "phone")?;
    ensure!(message(&mut phone)? == "fourth");
    phone.ping()?;
    let (status, trace) = api.read(&format!("/api/apps/default/pushes/{all}/devices/tablet"))?;
    ensure!(status == 200 && trace["state"] == "owed", "{status}: {trace}");
    Ok(())
}

#[test]
fn ten_thousand_devices_that_were_away_get_a_broadcast_on_return() -> Result<()> {
    const DEVICES: usize = 10_000;
    const THREADS: usize = 8;
    raise_open_files();
    let server = Server::trial()?;
    let api = server.api();
    register(&api, "default", (0..DEVICES).map(|number| format!("seat-{number}")))?;
    let id = push(&api, "default", &json!({"audience": "all", "message": "lights on"}))?;
    counts(&api, "default", &id, |counts| counts["owed"] == DEVICES)?;

    let next = AtomicUsize::new(0);
    let devices = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| -> Result<Vec<Device>> {
                    let mut mine = Vec::new();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= DEVICES {
                            return Ok(mine);
                        }
                        let mut device = reader(server.mqtt, &format!("seat-{number}"))?;
                        let got = message(&mut device).with_context(|| format!("seat-{number}"))?;
                        ensure!(got == "lights on", "seat-{number} got {got:?}");
                        // All of them stay: so many sockets are open at once.
                        mine.push(device);
                    }
                })
            })
            .collect();
        let mut devices = Vec::new();
        for worker in workers {
            devices.extend(worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??);
        }
        anyhow::Ok(devices)
    })?;
    let report = counts(&api, "default", &id, |counts| counts["delivered"] == DEVICES)?;
    ensure!(report["counts"]["targeted"] == DEVICES && report["status"] == "settled", "{report}");
    // While all are there the next one is with them at once.
    let id = push(&api, "default", &json!({"audience": "all", "message": "goal"}))?;
    let mut devices = devices;
    for device in &mut devices {
        ensure!(message(device)? == "goal");
    }
    counts(&api, "default", &id, |counts| counts["delivered"] == DEVICES)?;
    Ok(())
}

#[test]
fn a_revoked_device_is_cut_and_stays_out_until_it_is_restored() -> Result<()> {
    let server = Server::trial()?;
    let api = server.api();
    register(&api, "default", std::iter::once("phone".to_owned()))?;
    // One reads its inbox, the other only listens to the news: both are cut.
    for filter in ["inbox/phone", "news"] {
        let mut phone = Device::clean(server.mqtt, Version::V5, "phone")?;
        phone.subscribe(&[filter], 1)?;
        let (status, answer) = api.post("/api/apps/default/devices/phone/revoke", &Value::Null)?;
        ensure!(status == 204, "{status}: {answer}");
        phone.end(PATIENCE).with_context(|| format!("a device that reads {filter}"))?;
        ensure!(Device::clean(server.mqtt, Version::V5, "phone").is_err(), "a revoked device is let in");
        let (status, answer) = api.post("/api/apps/default/devices/phone/restore", &Value::Null)?;
        ensure!(status == 204, "{status}: {answer}");
        until_true(PATIENCE, "the restored device to be let in", || {
            Ok(Device::clean(server.mqtt, Version::V5, "phone").is_ok())
        })?;
    }
    Ok(())
}

#[test]
fn expired_collapsed_and_cancelled_pushes_are_not_delivered() -> Result<()> {
    let server = Server::trial()?;
    let api = server.api();
    register(&api, "default", std::iter::once("phone".to_owned()))?;
    let to_phone = |text: &str, options: Value| json!({"audience": {"device": "phone"}, "message": text, "options": options});
    let short = push(&api, "default", &to_phone("short", json!({"expiry_s": 1})))?;
    let old = push(&api, "default", &to_phone("1:0", json!({"collapse_key": "score"})))?;
    // One to everybody takes the place of one to a device as well.
    let all = json!({"audience": "all", "message": "2:0", "options": {"collapse_key": "score"}});
    let new = push(&api, "default", &all)?;
    let cancelled = push(&api, "default", &to_phone("never", json!({})))?;
    let (status, answer) = api.post(&format!("/api/apps/default/pushes/{cancelled}/cancel"), &Value::Null)?;
    ensure!(status == 200, "{status}: {answer}");
    counts(&api, "default", &short, |counts| counts["expired"] == 1)?;
    counts(&api, "default", &old, |counts| counts["collapsed"] == 1)?;
    counts(&api, "default", &cancelled, |counts| counts["cancelled"] == 1)?;

    let mut phone = reader(server.mqtt, "phone")?;
    ensure!(message(&mut phone)? == "2:0");
    phone.ping()?;
    counts(&api, "default", &new, |counts| counts["delivered"] == 1)?;
    Ok(())
}

#[test]
fn two_apps_know_nothing_of_each_other() -> Result<()> {
    let server = Server::trial()?;
    let api = server.api();
    let (status, answer) = api.put("/api/apps/shop", &json!({}))?;
    ensure!(status == 200 || status == 201, "{status}: {answer}");
    let mut of_default = reader(server.mqtt, "phone")?;
    let mut of_shop = reader(server.mqtt, "shop/phone")?;
    for app in ["default", "shop"] {
        until_true(PATIENCE, "the device to be registered as it connects", || {
            Ok(api.read(&format!("/api/apps/{app}/devices/phone"))?.0 == 200)
        })?;
    }
    let id = push(&api, "shop", &json!({"audience": "all", "message": "sale"}))?;
    let received = of_shop.take()?;
    ensure!(received.topic == "inbox/shop/phone" && received.payload == b"sale", "{received:?}");
    let report = counts(&api, "shop", &id, |counts| counts["delivered"] == 1)?;
    ensure!(report["counts"]["targeted"] == 1, "{report}");
    let (status, answer) = api.read(&format!("/api/apps/default/pushes/{id}"))?;
    ensure!(status == 404, "{status}: {answer}");
    push(&api, "default", &json!({"audience": {"device": "phone"}, "message": "hello"}))?;
    let received = of_default.take()?;
    ensure!(received.topic == "inbox/phone" && received.payload == b"hello", "{received:?}");
    of_shop.ping()?;
    of_default.ping()
}
