//! Pushes over HTTP and their outcomes: one device, several, a channel, everybody; reports, kick,
//! metrics.
//!
//! Devices are raw MQTT clients of the fixture, so that each acknowledgement is the test's own
//! decision.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::device::Device;
use stadium_testing::server::{Plan, Server};
use stadium_testing::wire::{Connect, Kind, VERSIONS, Version};

/// Devices of both versions that hear their inbox, everybody, and (the even ones) the channel news.
fn fleet(server: &Server, count: usize) -> Result<Vec<Device>> {
    (0..count)
        .map(|number| {
            let id = format!("seat-{number}");
            let mut device = Device::clean(server.mqtt, VERSIONS[number / 2 % 2], &id)?;
            device.subscribe(&[&format!("inbox/{id}"), "channels/everybody"], 1)?;
            if number % 2 == 0 {
                device.subscribe(&["channels/news"], 1)?;
            }
            Ok(device)
        })
        .collect()
}

#[test]
fn each_audience_gets_its_push_and_the_report_counts_it() -> Result<()> {
    for loops in [1, 2] {
        let server = Server::start(Plan { loops, ..Plan::default() })?;
        let mut devices = fleet(&server, 20)?;
        for qos in [0, 1] {
            let audiences = [
                (json!({"device": "seat-3"}), "inbox/seat-3", vec![3]),
                (json!({"devices": ["seat-1", "seat-2", "seat-7"]}), "inbox/", vec![1, 2, 7]),
                (json!({"channel": "news"}), "channels/news", (0..20).step_by(2).collect()),
                (json!("everybody"), "channels/everybody", (0..20).collect::<Vec<_>>()),
            ];
            for (to, topic, expected) in audiences {
                let id = server.api().push(&json!({"to": to, "message": to.to_string(), "qos": qos}))?;
                for number in &expected {
                    let message = devices[*number].take().with_context(|| format!("{to}: seat-{number}"))?;
                    ensure!(message.topic.starts_with(topic), "{message:?}");
                    ensure!(
                        message.payload == to.to_string().as_bytes() && message.qos == qos,
                        "{message:?}"
                    );
                }
                let acknowledged = if qos == 1 { expected.len() } else { 0 };
                let report = server
                    .api()
                    .report(&id, PATIENCE, |report| {
                        report["acknowledged"] == acknowledged && report["sent"] == expected.len()
                    })
                    .with_context(|| format!("{loops} loops, QoS {qos}, {to}"))?;
                ensure!(report["targeted"] == expected.len(), "{report}");
            }
        }
        // Nobody got what was for others: the answer to a ping comes after everything that was sent.
        for device in &mut devices {
            device.ping()?;
        }
    }
    Ok(())
}

#[test]
fn a_push_waits_for_a_device_that_is_away_until_it_expires() -> Result<()> {
    let server = Server::trial()?;
    let persistent = Connect::new(Version::V5, "phone").persistent();
    let mut phone = Device::connect(server.mqtt, &persistent)?;
    phone.subscribe(&["inbox/phone"], 1)?;
    phone.leave()?;
    let push = |message: &str, expiry_s: u32| json!({"to": {"device": "phone"}, "message": message, "qos": 1, "expiry_s": expiry_s});
    let short = server.api().push(&push("short", 1))?;
    let long = server.api().push(&push("long", 600))?;
    // The server counts from the acceptance, which was before now.
    let accepted = Instant::now();
    until_true(PATIENCE, "the push to expire", || Ok(accepted.elapsed() > Duration::from_secs(1)))?;
    let mut back = Device::connect(server.mqtt, &persistent)?;
    ensure!(back.session_present());
    let message = back.take()?;
    ensure!(message.payload == b"long", "got {message:?}");
    back.ping()?;
    server.api().report(&long, PATIENCE, |report| report["acknowledged"] == 1)?;
    server.api().report(&short, PATIENCE, |report| report["expired"] == 1)?;
    Ok(())
}

#[test]
fn a_push_to_nobody_is_accepted_and_reports_nobody() -> Result<()> {
    let server = Server::trial()?;
    let id = server.api().push(&json!({"to": {"channel": "silence"}, "message": "hello?", "qos": 1}))?;
    let report = server.api().report(&id, PATIENCE, |report| report["status"] != "accepted")?;
    ensure!(report["targeted"] == 0 && report["sent"] == 0, "{report}");
    Ok(())
}

#[test]
fn wrong_pushes_are_refused_with_a_code() -> Result<()> {
    let mut server = Server::trial()?;
    let wrong = [
        json!({}),
        json!({"to": "nobody-knows", "message": "x"}),
        json!({"to": {"device": "#"}, "message": "x"}),
        json!({"to": {"devices": []}, "message": "x"}),
        json!({"to": {"channel": "+"}, "message": "x"}),
        json!({"to": {"channel": "a/#"}, "message": "x"}),
        json!({"to": "everybody", "message": "x", "qos": 2}),
        json!({"to": "everybody", "message": "x", "colour": "red"}),
        json!({"to": "everybody", "message": "x", "message_base64": "eA=="}),
        json!({"to": "everybody", "message_base64": "no base64!"}),
    ];
    for body in wrong {
        let (status, problem) = server.api().post("/api/push", &body)?;
        ensure!((400..500).contains(&status), "{body}: {status} {problem}");
        ensure!(problem["code"].as_str().is_some_and(|code| code.starts_with("HTTP-")), "{body}: {problem}");
    }
    let large = json!({"to": "everybody", "message": "x".repeat(3 << 20)});
    let (status, problem) = server.api().post("/api/push", &large)?;
    ensure!(status == 413, "{status} {problem}");
    server.must_still_serve()
}

#[test]
fn a_kick_closes_the_connection_and_keeps_the_session() -> Result<()> {
    for loops in [1, 2] {
        let server = Server::start(Plan { loops, ..Plan::default() })?;
        for version in VERSIONS {
            let persistent = Connect::new(version, "phone").persistent();
            let mut phone = Device::connect(server.mqtt, &persistent)?;
            phone.subscribe(&["inbox/phone"], 1)?;
            let (status, answer) = server.api().delete("/api/devices/phone/connection")?;
            ensure!(status == 204, "{status} {answer}");
            let frames = phone.end(PATIENCE)?;
            let reasons: Vec<u8> = frames.iter().map(|frame| frame.reason(version)).collect();
            match version {
                Version::V311 => ensure!(frames.is_empty(), "{frames:02x?}"),
                Version::V5 => ensure!(frames[0].is(Kind::Disconnect) && reasons == [0x98], "{reasons:02x?}"),
            }
            until_true(PATIENCE, "the device to be away", || Ok(!server.api().connected("phone")?))?;
            let (status, _) = server.api().delete("/api/devices/phone/connection")?;
            ensure!(status == 409, "kicking who is away: {status}");
            ensure!(Device::connect(server.mqtt, &persistent)?.session_present());
        }
        let (status, _) = server.api().delete("/api/devices/stranger/connection")?;
        ensure!(status == 404, "kicking who is unknown: {status}");
    }
    Ok(())
}

#[test]
fn devices_are_listed_in_pages() -> Result<()> {
    let server = Server::trial()?;
    let _devices = fleet(&server, 25)?;
    let mut seen = Vec::new();
    let mut path = "/api/devices?prefix=seat-&connected=true&limit=10".to_owned();
    loop {
        let (status, page) = server.api().read(&path)?;
        ensure!(status == 200, "{status} {page}");
        let devices = page["devices"].as_array().context("no devices")?;
        ensure!(devices.len() <= 10);
        seen.extend(devices.iter().filter_map(|device| device["id"].as_str().map(str::to_owned)));
        match page["next"].as_str() {
            Some(next) => path = format!("/api/devices?prefix=seat-&connected=true&limit=10&after={next}"),
            None => break,
        }
    }
    let mut expected: Vec<String> = (0..25).map(|number| format!("seat-{number}")).collect();
    expected.sort();
    ensure!(seen == expected, "{seen:?}");
    Ok(())
}

#[test]
fn the_api_needs_a_key_outside_trial_mode() -> Result<()> {
    let server =
        Server::start(Plan { access: stadium_testing::server::Access::Settings, ..Plan::default() })?;
    for path in ["/api/devices", "/api/pushes", "/metrics"] {
        let (status, text) = server.api().plain(path)?;
        ensure!(status == 401, "{path} without a key: {status} {text}");
    }
    for path in ["/healthz", "/readyz"] {
        ensure!(server.api().plain(path)?.0 == 200, "{path} needs no key");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(server.data().join("admin.key"))?.permissions(),
    );
    ensure!(mode & 0o777 == 0o600, "admin.key has mode {mode:o}");
    Ok(())
}

#[test]
fn metrics_follow_what_happens() -> Result<()> {
    let server = Server::trial()?;
    let (status, text) = server.api().plain("/metrics")?;
    ensure!(status == 200);
    let families = text.lines().filter(|line| line.starts_with("# TYPE stadium_")).count();
    ensure!(families >= 15, "only {families} metrics:\n{text}");
    let named = |part: &str| {
        text.lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
            .any(|name| name.contains(part))
    };
    for part in ["connect", "session", "subscription", "retained", "deliver", "drop", "close", "bytes"] {
        ensure!(named(part), "no metric is about {part:?}:\n{text}");
    }
    // Every sample parses, and no series is there twice.
    let mut series = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').with_context(|| format!("not a sample: {line:?}"))?;
        value.parse::<f64>().with_context(|| format!("not a number: {line}"))?;
        series.push(name);
    }
    let all = series.len();
    series.sort_unstable();
    series.dedup();
    ensure!(series.len() == all, "a series is there twice");
    Ok(())
}
