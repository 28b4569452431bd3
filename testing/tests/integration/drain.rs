//! SIGTERM and Ctrl-C: devices are asked to move, and the process ends as it promises.
//!
//! A drain is paced within its grace period; a second signal ends it at once. The exit code is part of the promise.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use stadium_testing::deadline::{PATIENCE, until};
use stadium_testing::device::Device;
use stadium_testing::process::Signal;
use stadium_testing::server::{Plan, Server};
use stadium_testing::wire::{Connect, Kind, Publish, VERSIONS, Version};

/// Server shutting down, Use another server, Server moved (MQTT 5.0, 3.14.2.1).
const MOVE_ON: [u8; 3] = [0x8B, 0x9C, 0x9D];

#[test]
fn sigterm_moves_devices_away_and_exits_0() -> Result<()> {
    for loops in [1, 2] {
        let settings = "[server]\ngrace_period_s = 5\n".to_owned();
        let mut server = Server::start(Plan { loops, settings, ..Plan::default() })?;
        let mut devices = Vec::new();
        for number in 0..200 {
            let version = VERSIONS[number % 2];
            devices.push(Device::connect(
                server.mqtt,
                &Connect::new(version, format!("seat-{number}")).keep_alive(60),
            )?);
        }
        let started = Instant::now();
        server.signal(Signal::TERM)?;
        for device in &mut devices {
            let frames = device.end(Duration::from_secs(8)).context("a device was left behind")?;
            match device.version() {
                Version::V311 => {
                    ensure!(frames.is_empty(), "3.1.1 has no DISCONNECT of the server's: {frames:02x?}")
                }
                Version::V5 => {
                    let disconnect =
                        frames.iter().find(|frame| frame.is(Kind::Disconnect)).context("no DISCONNECT")?;
                    let reason = disconnect.reason(Version::V5);
                    ensure!(MOVE_ON.contains(&reason), "DISCONNECT {reason:#04x}");
                }
            }
        }
        let status = server.ended(Duration::from_secs(8))?;
        ensure!(status.code() == Some(0), "{status}:\n{}", server.log());
        ensure!(started.elapsed() < Duration::from_secs(7), "took {:?}", started.elapsed());
    }
    Ok(())
}

#[test]
fn a_drain_names_the_other_server() -> Result<()> {
    let mut server =
        Server::with("[server]\ngrace_period_s = 3\ndrain_server_reference = \"other.example:1883\"\n")?;
    let mut device = Device::clean(server.mqtt, Version::V5, "phone")?;
    server.signal(Signal::TERM)?;
    let disconnect = device.expect(Kind::Disconnect)?;
    let reason = disconnect.reason(Version::V5);
    ensure!([0x9C, 0x9D].contains(&reason), "DISCONNECT {reason:#04x}");
    let properties = disconnect.properties(1).context("no properties")?;
    let reference = b"\x1C\x00\x12other.example:1883";
    ensure!(properties.windows(reference.len()).any(|bytes| bytes == reference), "{properties:02x?}");
    ensure!(server.ended(PATIENCE)?.code() == Some(0));
    Ok(())
}

#[test]
fn a_draining_server_takes_no_new_device_and_reports_it() -> Result<()> {
    let mut server = Server::with("[server]\ngrace_period_s = 6\ndrain_devices_per_second = 1\n")?;
    let devices: Vec<Device> = (0..20)
        .map(|number| Device::clean(server.mqtt, Version::V5, &format!("seat-{number}")))
        .collect::<Result<_>>()?;
    server.signal(Signal::TERM)?;
    let api = server.api();
    until(PATIENCE, "/readyz to report that it drains", || {
        let (status, text) = api.plain("/readyz")?;
        Ok((status == 503).then_some(text))
    })?;
    let refused = match Device::dial(server.mqtt, Version::V5) {
        Err(_) => true,
        Ok(mut late) => {
            late.send_if_open(&Connect::new(Version::V5, "late").encode());
            late.end(PATIENCE)?.iter().all(|frame| frame.reason(Version::V5) >= 0x80)
        }
    };
    ensure!(refused, "a draining server let a device in");
    drop(devices);
    ensure!(server.ended(PATIENCE)?.code() == Some(0));
    Ok(())
}

#[test]
fn an_accepted_message_is_delivered_before_the_server_goes() -> Result<()> {
    let mut server = Server::with("[server]\ngrace_period_s = 5\n")?;
    let mut reader = Device::clean(server.mqtt, Version::V5, "reader")?;
    reader.subscribe(&["t"], 1)?;
    let mut writer = Device::clean(server.mqtt, Version::V5, "writer")?;
    for id in 1..=50 {
        writer.send(&Publish::new("t", &[id as u8]).qos(1, id).encode(Version::V5))?;
    }
    for _ in 1..=50 {
        writer.expect(Kind::Puback)?;
    }
    server.signal(Signal::TERM)?;
    for id in 1..=50_u8 {
        ensure!(reader.take()?.payload == [id]);
    }
    ensure!(server.ended(PATIENCE)?.code() == Some(0));
    Ok(())
}

#[test]
fn a_second_signal_ends_it_at_once() -> Result<()> {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::with("[server]\ngrace_period_s = 60\ndrain_devices_per_second = 1\n")?;
        let devices: Vec<Device> = (0..120)
            .map(|number| Device::clean(server.mqtt, Version::V5, &format!("seat-{number}")))
            .collect::<Result<_>>()?;
        server.signal(signal)?;
        let api = server.api();
        until(PATIENCE, "the drain to begin", || Ok((api.plain("/readyz")?.0 == 503).then_some(())))?;
        let started = Instant::now();
        server.signal(signal)?;
        server.ended(Duration::from_secs(5)).with_context(|| format!("{signal:?}"))?;
        ensure!(started.elapsed() < Duration::from_secs(3), "left after {:?}", started.elapsed());
        drop(devices);
    }
    Ok(())
}

#[test]
fn an_empty_server_leaves_quickly() -> Result<()> {
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::with("[server]\ngrace_period_s = 30\n")?;
        let started = Instant::now();
        server.signal(signal)?;
        let status = server.ended(PATIENCE)?;
        ensure!(status.code() == Some(0), "{signal:?}: {status}");
        ensure!(started.elapsed() < Duration::from_secs(5), "{signal:?}: {:?}", started.elapsed());
    }
    Ok(())
}
