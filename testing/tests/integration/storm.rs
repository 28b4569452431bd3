//! A storm: every device is cut at once and is back at once.
//!
//! Raw sockets on a few threads, so that the client is not what the suite measures. The deadline is generous: the bench
//! measures speed, this suite holds that everybody gets back in and nothing is left behind.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::device::Device;
use stadium_testing::process::raise_open_files;
use stadium_testing::server::{Plan, Server};
use stadium_testing::wire::{Connect, Version};

const DEVICES: usize = 3_000;

/// Threads that connect devices; each connects its share one after the other.
const THREADS: usize = 8;

/// Time for all to be back and subscribed.
const ALL_BACK: Duration = Duration::from_secs(30);

fn connect_all(address: SocketAddr, connect: impl Fn(usize) -> Connect + Sync) -> Result<Vec<Device>> {
    std::thread::scope(|scope| {
        let connect = &connect;
        let workers: Vec<_> = (0..THREADS)
            .map(|worker| {
                scope.spawn(move || -> Result<Vec<Device>> {
                    let mine = (worker..DEVICES).step_by(THREADS);
                    mine.map(|number| {
                        let mut device = Device::connect(address, &connect(number))?;
                        device.subscribe(&[&format!("inbox/seat-{number}"), "channels/everybody"], 1)?;
                        Ok(device)
                    })
                    .collect()
                })
            })
            .collect();
        let mut devices = Vec::with_capacity(DEVICES);
        for worker in workers {
            devices.extend(worker.join().map_err(|_| anyhow::anyhow!("a worker panicked"))??);
        }
        Ok(devices)
    })
}

fn everybody_hears(server: &Server, devices: &mut [Device]) -> Result<()> {
    let id = server.api().push(&json!({"to": "everybody", "message": "lights on", "qos": 1}))?;
    for device in devices.iter_mut() {
        let message = device.take().context("a device got no push")?;
        ensure!(message.payload == b"lights on", "{message:?}");
    }
    let all = devices.len();
    server.api().report(&id, PATIENCE, |report| report["acknowledged"] == all)?;
    Ok(())
}

fn storm(loops: u16, connect: impl Fn(usize) -> Connect + Sync) -> Result<()> {
    raise_open_files();
    let mut server = Server::start(Plan { loops, ..Plan::default() })?;
    let mut devices = connect_all(server.mqtt, &connect)?;
    everybody_hears(&server, &mut devices)?;
    let before = server.resident_bytes()?;

    for round in 1..=3 {
        for device in devices.drain(..) {
            device.cut()?;
        }
        let started = Instant::now();
        devices = connect_all(server.mqtt, &connect).with_context(|| format!("storm {round}"))?;
        let took = started.elapsed();
        ensure!(took < ALL_BACK, "storm {round}: all {DEVICES} were back after {took:?}");
        everybody_hears(&server, &mut devices).with_context(|| format!("after storm {round}"))?;
    }

    let after = server.resident_bytes()?;
    let grown = after.saturating_sub(before);
    ensure!(grown < 32 << 20, "three storms left {grown} bytes behind");
    for device in devices {
        device.cut()?;
    }
    until_true(PATIENCE, "every socket to be closed", || Ok(server.process().open_files()? < 200))?;
    server.must_still_serve()
}

#[test]
fn a_storm_of_clean_devices_is_survived_on_one_loop() -> Result<()> {
    storm(1, |number| Connect::new(Version::V311, format!("seat-{number}")))
}

#[test]
fn a_storm_of_devices_with_sessions_is_survived_on_two_loops() -> Result<()> {
    storm(2, |number| Connect::new(Version::V5, format!("seat-{number}")).persistent())
}

#[test]
fn messages_pushed_during_the_storm_reach_every_kept_session() -> Result<()> {
    raise_open_files();
    let mut server = Server::trial()?;
    let connect = |number| Connect::new(Version::V5, format!("seat-{number}")).persistent();
    let devices = connect_all(server.mqtt, connect)?;
    for device in devices {
        device.cut()?;
    }
    // Some are noticed as cut by now, some are not; the message is for all of them.
    let id = server.api().push(&json!({"to": "everybody", "message": "during", "qos": 1}))?;
    let mut missing = 0;
    for number in 0..DEVICES {
        let mut device = Device::connect(server.mqtt, &connect(number))?;
        ensure!(device.session_present(), "the session of seat-{number} was lost");
        if device.take().map(|message| message.payload).ok().as_deref() != Some(b"during") {
            missing += 1;
        }
    }
    ensure!(missing == 0, "{missing} of {DEVICES} did not get the message");
    server.api().report(&id, PATIENCE, |report| report["acknowledged"] == DEVICES)?;
    server.must_still_serve()
}

#[test]
fn a_herd_beyond_the_connection_limit_is_asked_to_retry() -> Result<()> {
    // 3.1.4: CONNACK 0x89 Server busy, 0x97 Quota exceeded or 0x9F Connection rate exceeded in MQTT 5, 3 (unavailable) in
    // 3.1.1. The limit holds over all loops, so a herd that falls on them unevenly may not be refused early.
    for loops in [1, 2] {
        let settings = "[limits]\nconnections_max = 100\n".to_owned();
        let mut server = Server::start(Plan { loops, settings, ..Plan::default() })?;
        let mut devices = Vec::new();
        for number in 0..100 {
            let device = Device::clean(server.mqtt, Version::V5, &format!("in-{number}"));
            devices.push(device.with_context(|| format!("device {number} of 100, {loops} loops"))?);
        }
        for (version, allowed) in [(Version::V5, &[0x89, 0x97, 0x9F][..]), (Version::V311, &[3])] {
            let mut late = Device::dial(server.mqtt, version)?;
            late.send_if_open(&Connect::new(version, "late").encode());
            let frames = late.end(PATIENCE)?;
            let reasons: Vec<u8> = frames.iter().map(|frame| frame.reason(version)).collect();
            ensure!(reasons.len() == 1 && allowed.contains(&reasons[0]), "{version:?}: {reasons:02x?}");
        }
        drop(devices);
        until_true(PATIENCE, "room for another device", || {
            Ok(Device::clean(server.mqtt, Version::V5, "after").is_ok())
        })?;
        server.must_still_serve()?;
    }
    Ok(())
}
