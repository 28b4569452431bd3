//! A million topics: retained, subscribed, or only published to. Each bound is told clearly and memory follows it.

use anyhow::{Context as _, Result, ensure};
use stadium_testing::device::Device;
use stadium_testing::server::Server;
use stadium_testing::wire::{self, Frame, Kind, Publish, VERSIONS, Version};

const MEGABYTE: u64 = 1 << 20;

/// Quota exceeded (MQTT 5.0, 2.4).
const QUOTA_EXCEEDED: u8 = 0x97;

/// How many publishes are unanswered at one time; below the server's Receive Maximum.
const WINDOW: usize = 200;

/// Publishes to `count` topics at QoS 1 and returns how many PUBACKs had each of the two answers: accepted, quota exceeded.
fn publish_all(
    device: &mut Device,
    count: usize,
    encode: impl Fn(usize, u16) -> Vec<u8>,
) -> Result<(usize, usize)> {
    let (mut accepted, mut refused) = (0, 0);
    let mut take = |frame: Frame| -> Result<()> {
        ensure!(frame.is(Kind::Puback), "{frame:02x?}");
        match frame.reason(Version::V5) {
            0 | 0x10 => accepted += 1,
            QUOTA_EXCEEDED => refused += 1,
            other => anyhow::bail!("PUBACK {other:#04x}"),
        }
        Ok(())
    };
    let mut batch = Vec::new();
    for start in (0..count).step_by(WINDOW) {
        batch.clear();
        let end = count.min(start + WINDOW);
        for number in start..end {
            batch.extend(encode(number, u16::try_from(number % WINDOW + 1)?));
        }
        device.send(&batch)?;
        for _ in start..end {
            take(device.next_packet()?)?;
        }
    }
    Ok((accepted, refused))
}

#[test]
fn publishing_to_a_million_topics_keeps_none_of_them() -> Result<()> {
    let mut server = Server::trial()?;
    let mut device = Device::clean(server.mqtt, Version::V5, "writer")?;
    device.ping()?;
    let before = server.resident_bytes()?;
    let (accepted, refused) = publish_all(&mut device, 1_000_000, |number, id| {
        Publish::new(&format!("fleet/{number}/state"), b"x").qos(1, id).encode(Version::V5)
    })?;
    ensure!((accepted, refused) == (1_000_000, 0));
    let grown = server.resident_bytes()?.saturating_sub(before);
    ensure!(grown < 16 * MEGABYTE, "a million topics that nobody keeps cost {grown} bytes");
    server.must_still_serve()
}

#[test]
fn retained_messages_beyond_the_bound_are_refused_and_memory_is_given_back() -> Result<()> {
    let mut server = Server::with("[limits]\nretained_messages_max = 50000\n")?;
    let mut device = Device::clean(server.mqtt, Version::V5, "writer")?;
    let before = server.resident_bytes()?;
    let retained = |number: usize, id| {
        Publish::new(&format!("retained/{number}"), b"0123456789").qos(1, id).retained().encode(Version::V5)
    };
    let (accepted, refused) = publish_all(&mut device, 1_000_000, retained)?;
    ensure!((accepted, refused) == (50_000, 950_000), "{accepted} accepted, {refused} refused");
    let grown = server.resident_bytes()?.saturating_sub(before);
    ensure!(grown < 64 * MEGABYTE, "50,000 retained messages cost {grown} bytes");

    // Replacing one that is there is no new one.
    let (accepted, _) = publish_all(&mut device, 1_000, retained)?;
    ensure!(accepted == 1_000, "replacing was refused");
    // What is cleared makes room.
    let cleared = |number: usize, id| {
        Publish::new(&format!("retained/{number}"), b"").qos(1, id).retained().encode(Version::V5)
    };
    publish_all(&mut device, 50_000, cleared)?;
    let (accepted, _) = publish_all(&mut device, 100, |number, id| {
        Publish::new(&format!("new/{number}"), b"x").qos(1, id).retained().encode(Version::V5)
    })?;
    ensure!(accepted == 100, "clearing made no room");
    server.must_still_serve()
}

#[test]
fn retained_bytes_are_bounded_too() -> Result<()> {
    let mut server = Server::with("[limits]\nretained_bytes_max = 10000000\n")?;
    let mut device = Device::clean(server.mqtt, Version::V5, "writer")?;
    let payload = vec![1; 100_000];
    let (accepted, refused) = publish_all(&mut device, 400, |number, id| {
        Publish::new(&format!("big/{number}"), &payload).qos(1, id).retained().encode(Version::V5)
    })?;
    ensure!(
        (90..=100).contains(&accepted) && refused == 400 - accepted,
        "{accepted} accepted, {refused} refused"
    );
    server.must_still_serve()
}

#[test]
fn subscriptions_beyond_the_bound_are_refused() -> Result<()> {
    let mut server = Server::trial()?;
    for version in VERSIONS {
        let mut device = Device::clean(server.mqtt, version, "reader")?;
        let before = server.resident_bytes()?;
        let (mut granted, mut refused) = (0, 0);
        // The default bound is 1,000 subscriptions of a session.
        for start in (0..100_000).step_by(1_000) {
            let filters: Vec<String> =
                (start..start + 1_000).map(|number| format!("fleet/{number}/#")).collect();
            let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
            device.send(&wire::subscribe(version, 1, &filters, 1))?;
            let suback = device.expect(Kind::Suback)?;
            let codes = match version {
                Version::V311 => &suback.body[2..],
                Version::V5 => suback.after_properties(2).context("cut short")?,
            };
            for code in codes {
                match (version, *code) {
                    (_, 1) => granted += 1,
                    (Version::V311, 0x80) | (Version::V5, QUOTA_EXCEEDED) => refused += 1,
                    (_, other) => anyhow::bail!("SUBACK {other:#04x}"),
                }
            }
        }
        ensure!((granted, refused) == (1_000, 99_000), "{granted} granted, {refused} refused");
        let grown = server.resident_bytes()?.saturating_sub(before);
        ensure!(grown < 16 * MEGABYTE, "refused subscriptions cost {grown} bytes");
        device.leave()?;
    }
    server.must_still_serve()
}

#[test]
fn a_topic_as_deep_as_a_string_allows_is_matched_without_harm() -> Result<()> {
    let mut server = Server::trial()?;
    let deep = "/".repeat(60_000);
    for version in VERSIONS {
        let mut device = Device::clean(server.mqtt, version, "deep")?;
        let filter = "+/".repeat(30_000);
        // Either is served or refused; a limit on levels is ours to set (4.7.3).
        device.send(&wire::subscribe(version, 1, &["/#", &filter], 0))?;
        device.expect(Kind::Suback)?;
        device.send(&Publish::new(&deep, b"x").qos(1, 1).encode(version))?;
        let first = device.next_packet()?;
        ensure!(
            first.is(Kind::Puback) || first.is(Kind::Publish) || first.is(Kind::Disconnect),
            "{:02x}",
            first.first
        );
    }
    server.must_still_serve()
}
