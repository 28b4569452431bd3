//! Limits that keep one device or one address from taking what belongs to all.
//!
//! Each is set low, exceeded, and seen to hold while everybody else is served.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use stadium_testing::deadline::{PATIENCE, until, until_true};
use stadium_testing::device::Device;
use stadium_testing::server::{Plan, Server};
use stadium_testing::wire::{Connect, Kind, Publish, VERSIONS, Version};

/// Whether a device is let in.
fn let_in(server: &Server, id: &str) -> Result<Option<Device>> {
    let mut device = Device::dial(server.mqtt, Version::V5)?;
    device.send_if_open(&Connect::new(Version::V5, id).encode());
    match device.packet_within(Duration::from_secs(5)) {
        Ok(connack) if connack.reason(Version::V5) == 0 => Ok(Some(device)),
        // Closed, or refused.
        _ => Ok(None),
    }
}

#[test]
fn an_address_has_no_more_connections_than_it_may() -> Result<()> {
    for loops in [1, 2] {
        let settings = "[limits]\nconnections_per_address_max = 5\n".to_owned();
        let server = Server::start(Plan { loops, settings, ..Plan::default() })?;
        let mut held = Vec::new();
        for number in 0..5 {
            held.push(
                let_in(&server, &format!("in-{number}"))?.with_context(|| format!("device {number} of 5"))?,
            );
        }
        ensure!(let_in(&server, "late")?.is_none(), "a sixth connection was let in, {loops} loops");
        for device in &mut held {
            device.ping()?;
        }
        held.pop().context("five are held")?.leave()?;
        until_true(PATIENCE, "a place to be free again", || Ok(let_in(&server, "after")?.is_some()))?;
    }
    Ok(())
}

#[test]
fn an_address_that_connects_too_fast_is_slowed_down() -> Result<()> {
    let server = Server::with("[limits]\naccepts_per_address_per_second = 10\n")?;
    let mut refused = 0;
    for number in 0..200 {
        if let_in(&server, &format!("fast-{number}"))?.is_none() {
            refused += 1;
        }
    }
    ensure!(refused >= 50, "only {refused} of 200 connections at once were refused");
    until_true(PATIENCE, "the address to be let in again", || Ok(let_in(&server, "patient")?.is_some()))
}

#[test]
fn a_herd_over_the_budget_is_asked_to_retry_and_gets_in_later() -> Result<()> {
    // CONNACK 0x89 Server busy, or 3 (unavailable) in 3.1.1.
    for loops in [1, 2] {
        let settings = "[limits]\nconnects_per_second = 50\nbusy_retry_after_ms = 200\n".to_owned();
        let server = Server::start(Plan { loops, settings, ..Plan::default() })?;
        let mut refused = 0;
        let mut devices = Vec::new();
        for number in 0..200 {
            let connect = Connect::new(VERSIONS[number % 2], format!("herd-{number}"));
            let mut attempts = 0;
            let device = until(PATIENCE, "a device of the herd to be let in", || {
                attempts += 1;
                let mut device = Device::dial(server.mqtt, connect.version)?;
                device.send(&connect.encode())?;
                let reason = device.expect(Kind::Connack)?.reason(connect.version);
                match (connect.version, reason) {
                    (_, 0) => Ok(Some(device)),
                    (Version::V5, 0x89) | (Version::V311, 3) => Ok(None),
                    (version, other) => anyhow::bail!("{version:?}: CONNACK {other:#04x}"),
                }
            })?;
            refused += usize::from(attempts > 1);
            devices.push(device);
        }
        ensure!(refused > 0, "200 devices at 50 a second, and nobody was asked to wait, {loops} loops");
        for device in &mut devices {
            device.ping()?;
        }
        // The budget is free again after a second.
        until_true(PATIENCE, "the budget to be free", || Ok(let_in(&server, "last")?.is_some()))?;
    }
    Ok(())
}

#[test]
fn a_device_that_publishes_too_fast_is_held_back() -> Result<()> {
    // A second's worth at once, then 100 each second.
    let mut server = Server::with("[limits]\nmessages_per_second_per_connection = 100\n")?;
    let mut fast = Device::clean(server.mqtt, Version::V5, "fast")?;
    let started = Instant::now();
    for id in 1..=400 {
        fast.publish(&Publish::new("t", b"x").qos(1, id))?;
        if id == 200 {
            let mut other = Device::clean(server.mqtt, Version::V5, "other")?;
            other.publish(&Publish::new("u", b"x").qos(1, 1))?;
        }
    }
    let took = started.elapsed();
    ensure!(took >= Duration::from_secs(2), "400 messages passed in {took:?}; 100 a second are allowed");
    server.must_still_serve()
}

#[test]
fn a_burst_in_one_write_is_held_back_and_loses_nothing() -> Result<()> {
    let mut server = Server::with("[limits]\nmessages_per_second_per_connection = 100\n")?;
    let mut reader = Device::clean(server.mqtt, Version::V5, "reader")?;
    reader.subscribe(&["t"], 0)?;
    let mut fast = Device::clean(server.mqtt, Version::V5, "fast")?;
    let started = Instant::now();
    let burst: Vec<u8> = (0..400_u16)
        .flat_map(|number| Publish::new("t", &number.to_be_bytes()).encode(Version::V5))
        .collect();
    fast.send(&burst)?;
    for number in 0..400_u16 {
        ensure!(reader.receive()?.payload == number.to_be_bytes());
    }
    let took = started.elapsed();
    ensure!(took >= Duration::from_secs(2), "400 messages passed in {took:?}; 100 a second are allowed");
    server.must_still_serve()
}

#[test]
fn a_device_that_sends_too_many_bytes_is_held_back() -> Result<()> {
    let mut server = Server::with("[limits]\nbytes_per_second_per_connection = 100000\n")?;
    let mut fast = Device::clean(server.mqtt, Version::V5, "fast")?;
    let started = Instant::now();
    // A second's worth at once, then 100 KB each second.
    for id in 1..=40 {
        fast.publish(&Publish::new("t", &[0; 10_000]).qos(1, id))?;
    }
    ensure!(started.elapsed() >= Duration::from_secs(2), "400 KB passed in {:?}", started.elapsed());
    server.must_still_serve()
}
