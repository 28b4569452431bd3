//! The steps of QoS 1 and 2 across connections, which libraries hide: packets that are sent again,
//! with which flag, and packets that are not.
//!
//! Raw packets on real sockets, in both versions.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use stadium_testing::deadline::PATIENCE;
use stadium_testing::device::Device;
use stadium_testing::server::{Plan, Server};
use stadium_testing::wire::{self, Connect, Kind, Publish, VERSIONS, Version, packet};

fn test(test: impl Fn(&Server, Version) -> Result<()>) -> Result<()> {
    for loops in [1, 2] {
        let server = Server::start(Plan { loops, ..Plan::default() })?;
        for version in VERSIONS {
            test(&server, version).with_context(|| format!("{version:?}, {loops} loops"))?;
        }
    }
    Ok(())
}

/// A subscriber at QoS 2 that keeps its session, and a writer.
fn pair(server: &Server, version: Version) -> Result<(Connect, Device, Device)> {
    let persistent = Connect::new(version, format!("reader-{version:?}")).persistent();
    let mut reader = Device::connect(server.mqtt, &persistent)?;
    reader.subscribe(&["t"], 2)?;
    let writer = Device::clean(server.mqtt, version, &format!("writer-{version:?}"))?;
    Ok((persistent, reader, writer))
}

#[test]
fn an_unacknowledged_publish_is_sent_again_with_dup_and_its_identifier() -> Result<()> {
    // [MQTT-4.4.0-1]
    test(|server, version| {
        for qos in [1, 2] {
            let (persistent, mut reader, mut writer) = pair(server, version)?;
            writer.send(&Publish::new("t", b"once").qos(qos, 1).encode(version))?;
            let first = reader.receive()?;
            ensure!(first.qos == qos && !first.duplicate, "{first:?}");
            reader.cut()?;
            let mut back = Device::connect(server.mqtt, &persistent)?;
            let again = back.receive()?;
            ensure!(again.duplicate && again.id == first.id && again.payload == b"once", "{again:?}");
            back.send(&wire::acknowledge(if qos == 1 { Kind::Puback } else { Kind::Pubrec }, again.id))?;
            if qos == 2 {
                back.expect(Kind::Pubrel)?;
                back.send(&wire::acknowledge(Kind::Pubcomp, again.id))?;
            }
            back.ping()?;
            back.leave()?;
            // Acknowledged is over: nothing comes a third time.
            let mut third = Device::connect(server.mqtt, &persistent)?;
            third.ping()?;
            Device::clean(server.mqtt, version, &persistent.id)?.leave()?;
        }
        Ok(())
    })
}

#[test]
fn after_pubrec_only_pubrel_is_sent_again() -> Result<()> {
    // 4.3.3: the sender must not re-send the PUBLISH once it has seen PUBREC.
    test(|server, version| {
        let (persistent, mut reader, mut writer) = pair(server, version)?;
        writer.send(&Publish::new("t", b"exactly").qos(2, 1).encode(version))?;
        let message = reader.receive()?;
        reader.send(&wire::acknowledge(Kind::Pubrec, message.id))?;
        reader.expect(Kind::Pubrel)?;
        reader.cut()?;
        let mut back = Device::connect(server.mqtt, &persistent)?;
        let release = back.expect(Kind::Pubrel)?;
        ensure!(release.body[..2] == message.id.to_be_bytes(), "{release:02x?}");
        back.send(&wire::acknowledge(Kind::Pubcomp, message.id))?;
        back.ping()
    })
}

#[test]
fn a_qos_2_publish_that_is_sent_twice_is_delivered_once() -> Result<()> {
    // [MQTT-4.3.3-10]: until PUBREL the identifier stands for the same message.
    test(|server, version| {
        let (_, mut reader, _) = pair(server, version)?;
        let sender = Connect::new(version, format!("twice-{version:?}")).persistent();
        let mut writer = Device::connect(server.mqtt, &sender)?;
        let publish = Publish::new("t", b"once").qos(2, 9).encode(version);
        writer.send(&publish)?;
        writer.expect(Kind::Pubrec)?;
        writer.cut()?;
        let mut writer = Device::connect(server.mqtt, &sender)?;
        ensure!(writer.session_present());
        let mut again = publish.clone();
        again[0] |= 8;
        writer.send(&again)?;
        writer.expect(Kind::Pubrec)?;
        writer.send(&wire::acknowledge(Kind::Pubrel, 9))?;
        writer.expect(Kind::Pubcomp)?;
        let first = reader.receive()?;
        ensure!(first.payload == b"once");
        reader.send(&wire::acknowledge(Kind::Pubrec, first.id))?;
        reader.expect(Kind::Pubrel)?;
        reader.send(&wire::acknowledge(Kind::Pubcomp, first.id))?;
        // The next packet is the next message, not the same again.
        writer.send(&Publish::new("t", b"next").encode(version))?;
        ensure!(reader.receive()?.payload == b"next");
        Device::clean(server.mqtt, version, &sender.id)?.leave()
    })
}

#[test]
fn pubrel_for_an_unknown_identifier_is_answered() -> Result<()> {
    // 3.7.2.1: PUBCOMP, in MQTT 5 with 0x92 Packet Identifier not found.
    test(|server, version| {
        let mut device = Device::clean(server.mqtt, version, "unknown")?;
        device.send(&wire::acknowledge(Kind::Pubrel, 77))?;
        let answer = device.expect(Kind::Pubcomp)?;
        ensure!(answer.body[..2] == [0, 77]);
        ensure!(version == Version::V311 || answer.reason(version) == 0x92, "{answer:02x?}");
        Ok(())
    })
}

#[test]
fn acknowledgements_nobody_waits_for_do_no_harm() -> Result<()> {
    test(|server, version| {
        let mut device = Device::clean(server.mqtt, version, "eager")?;
        device.send(&wire::acknowledge(Kind::Puback, 5))?;
        device.send(&wire::acknowledge(Kind::Pubcomp, 6))?;
        device.ping()
    })
}

#[test]
fn a_takeover_notifies_the_old_connection_and_hands_over_messages_in_flight() -> Result<()> {
    // [MQTT-3.1.4-3]
    test(|server, version| {
        let (persistent, mut reader, mut writer) = pair(server, version)?;
        writer.publish(&Publish::new("t", b"in flight").qos(1, 1))?;
        let first = reader.receive()?;
        let mut fresh = Device::connect(server.mqtt, &persistent)?;
        ensure!(fresh.session_present());
        let frames = reader.end(PATIENCE)?;
        if version == Version::V5 {
            let disconnect =
                frames.iter().find(|frame| frame.is(Kind::Disconnect)).context("no DISCONNECT")?;
            ensure!(disconnect.reason(version) == 0x8E, "{disconnect:02x?}");
        }
        let again = fresh.take()?;
        ensure!(again.payload == b"in flight" && again.id == first.id && again.duplicate, "{again:?}");
        fresh.leave()?;
        Device::clean(server.mqtt, version, &persistent.id)?.leave()
    })
}

#[test]
fn disconnect_must_not_begin_a_session_expiry() -> Result<()> {
    // 3.14.2.2.2: a Protocol Error, answered with DISCONNECT 0x82.
    let server = Server::trial()?;
    let mut device = Device::clean(server.mqtt, Version::V5, "late")?;
    device.send(&packet(0xE0, &[0, 5, 0x11, 0, 0, 0, 9]))?;
    let disconnect = device.expect(Kind::Disconnect)?;
    ensure!(disconnect.reason(Version::V5) == 0x82, "{disconnect:02x?}");
    device.end(Duration::from_secs(5)).map(drop)
}

#[test]
fn a_storm_of_takeovers_of_one_id_ends_with_one_connection() -> Result<()> {
    test(|server, version| {
        let id = format!("contested-{version:?}");
        let fights: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut held = Vec::new();
                        for _ in 0..25 {
                            let mut device = Device::dial(server.mqtt, version)?;
                            device.send_if_open(&Connect::new(version, &*id).persistent().encode());
                            held.push(device);
                        }
                        Ok(held)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        let mut held = Vec::new();
        for fight in fights {
            let devices: Result<Vec<Device>> = fight.map_err(|_| anyhow::anyhow!("a thread panicked"))?;
            held.extend(devices?);
        }
        // Each CONNECT is dealt with before the last one is sent: the loops take them in any order.
        for device in &mut held {
            if let Ok(first) = device.next_packet() {
                ensure!(first.is(Kind::Connack), "{first:02x?}");
            }
        }
        let mut last = Device::connect(server.mqtt, &Connect::new(version, &*id).persistent())?;
        for mut device in held {
            device.end(PATIENCE).context("an old connection is still open")?;
        }
        last.subscribe(&["t"], 1)?;
        last.publish(&Publish::new("other", b"").qos(1, 1))?;
        Device::clean(server.mqtt, version, &id)?.leave()
    })
}
