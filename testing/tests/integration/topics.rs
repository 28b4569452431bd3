//! A million topics: retained, subscribed, or only published to. Each bound is reported clearly and
//! memory follows it.
//!
//! The server's own memory is read from /proc before and after.

use anyhow::{Context as _, Result, ensure};
use stadium_testing::device::Device;
use stadium_testing::server::Server;
use stadium_testing::wire::{self, Frame, Kind, Publish, VERSIONS, Version};

const MEGABYTE: u64 = 1 << 20;

/// Quota exceeded (MQTT 5.0, 2.4).
const QUOTA_EXCEEDED: u8 = 0x97;

/// Topic Filter invalid, Topic Name invalid.
const TOPIC_FILTER_INVALID: u8 = 0x8F;
const TOPIC_NAME_INVALID: u8 = 0x90;

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
    let mut server = Server::with(
        "[limits]\nretained_messages_max = 50000\nretained_messages_per_principal_max = 1000000\n",
    )?;
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
    // A cleared topic makes room.
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
fn topics_of_many_levels_are_refused_with_their_reason() -> Result<()> {
    // 3.8.4, 3.3.4, 4.13: "correctly formed but not accepted" is 0x8F for a filter and 0x90 for a topic, in the acknowledgement
    // or in DISCONNECT; 3.1.1 has 0x80 in SUBACK, or an end of the connection.
    let mut server = Server::trial()?;
    let (filter, topic) = ("+/".repeat(30_000), "/".repeat(60_000));
    for version in VERSIONS {
        let packets = [
            (wire::subscribe(version, 1, &[&filter], 0), [0x80, TOPIC_FILTER_INVALID]),
            (Publish::new(&topic, b"x").qos(1, 1).encode(version), [TOPIC_NAME_INVALID; 2]),
        ];
        for (bytes, reasons) in packets {
            let mut device = Device::clean(server.mqtt, version, "deep")?;
            device.send(&bytes)?;
            match (version, device.next_packet()) {
                (_, Ok(answer)) => {
                    let reason = match version {
                        Version::V311 => *answer.body.last().context("empty")?,
                        Version::V5 => answer.reason(version),
                    };
                    ensure!(reasons.contains(&reason), "{version:?}: {answer:02x?}");
                }
                (Version::V311, Err(_)) => {}
                (Version::V5, Err(error)) => return Err(error).context("no reason was given"),
            }
        }
    }
    server.must_still_serve()
}
