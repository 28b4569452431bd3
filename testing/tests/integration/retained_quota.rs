//! Each principal has a quota of retained messages, on all event loops and across restarts.
//!
//! The server is killed with SIGKILL, so that the counts come back from the journal alone. Devices
//! with a credential are principals of their own; anonymous ones are one principal together.

use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use stadium_testing::device::Device;
use stadium_testing::killable::Killable;
use stadium_testing::wire::{Connect, Frame, Kind, Publish, VERSIONS, Version, acknowledge};

const QUOTA_EXCEEDED: u8 = 0x97;

const SETTINGS: &str = "\
[journal]
segment_bytes = 9437184
reserve_bytes = 262144
[shards]
count = 2
[limits]
retained_messages_per_principal_max = 3
retained_bytes_per_principal_max = 2000
";

/// A running server with two event loops, and the secrets of its devices.
fn server(place: &std::path::Path) -> Result<Killable> {
    let mut server = Killable::new(place, &place.join("data"), SETTINGS)?;
    server.loops = 2;
    server.start()?;
    Ok(server)
}

fn issue(server: &Killable, device: &str) -> Result<String> {
    let path = format!("/api/apps/default/devices/{device}");
    let (status, answer) = server.api().put(&path, &json!({}))?;
    ensure!(status < 300, "{status}: {answer}");
    let (status, answer) = server.api().post(&format!("{path}/credential"), &json!({}))?;
    ensure!(status == 201, "{status}: {answer}");
    Ok(answer["secret"].as_str().context("no secret")?.to_owned())
}

fn connect(server: &Killable, version: Version, id: &str, secret: &str) -> Result<Device> {
    let login = Some((id.to_owned(), secret.to_owned()));
    Device::connect(server.mqtt, &Connect { login, ..Connect::new(version, id) })
}

/// Publishes a retained message and returns the answer, PUBACK or PUBREC.
fn retain(device: &mut Device, topic: &str, payload: &[u8], qos: u8) -> Result<Frame> {
    let version = device.version();
    device.send(&Publish::new(topic, payload).qos(qos, 7).retained().encode(version))?;
    let answer = device.expect(if qos == 2 { Kind::Pubrec } else { Kind::Puback })?;
    if qos == 2 && answer.reason(version) < 0x80 {
        device.send(&acknowledge(Kind::Pubrel, 7))?;
        device.expect(Kind::Pubcomp)?;
    }
    Ok(answer)
}

/// Whether it is retained; else it is refused with Quota exceeded.
fn is_retained(device: &mut Device, topic: &str, payload: &[u8], qos: u8) -> Result<bool> {
    match retain(device, topic, payload, qos)?.reason(Version::V5) {
        0 | 0x10 => Ok(true),
        QUOTA_EXCEEDED => Ok(false),
        other => anyhow::bail!("{other:#04x}"),
    }
}

/// The topics with a retained message below `t/`, in order.
fn retained(server: &Killable) -> Result<Vec<String>> {
    let mut reader = Device::clean(server.mqtt, Version::V5, "reader")?;
    reader.subscribe(&["t/#"], 0)?;
    reader.send(&stadium_testing::wire::PINGREQ)?;
    let mut topics = Vec::new();
    loop {
        let packet = reader.next_packet()?;
        if packet.is(Kind::Pingresp) {
            break;
        }
        topics.push(packet.publish(Version::V5)?.topic);
    }
    topics.sort_unstable();
    Ok(topics)
}

#[test]
fn a_principal_fills_its_quota_and_nobody_elses_also_after_a_kill() -> Result<()> {
    let place = tempfile::tempdir()?;
    let mut server = server(place.path())?;
    let secrets = [issue(&server, "ann")?, issue(&server, "bob")?];
    let mut ann = connect(&server, Version::V5, "ann", &secrets[0])?;
    for number in 1..=3 {
        ensure!(is_retained(&mut ann, &format!("t/ann/{number}"), b"x", 1 + number % 2)?);
    }
    for _ in 0..2 {
        let mut ann = connect(&server, Version::V5, "ann", &secrets[0])?;
        let mut bob = connect(&server, Version::V5, "bob", &secrets[1])?;
        for qos in [1, 2] {
            ensure!(!is_retained(&mut ann, "t/ann/4", b"x", qos)?, "at QoS {qos}");
        }
        ensure!(is_retained(&mut ann, "t/ann/1", b"another", 1)?, "its own may be replaced");
        ensure!(is_retained(&mut bob, "t/bob/1", b"x", 1)?, "others have room");
        // Anonymous devices have one quota together.
        for number in 1..=3 {
            let mut nobody = Device::clean(server.mqtt, Version::V5, &format!("n{number}"))?;
            ensure!(is_retained(&mut nobody, &format!("t/n/{number}"), b"x", 1)?);
        }
        let mut nobody = Device::clean(server.mqtt, Version::V5, "n4")?;
        ensure!(!is_retained(&mut nobody, "t/n/4", b"x", 1)?);
        let found = retained(&server)?;
        let expected =
            ["t/ann/1", "t/ann/2", "t/ann/3", "t/bob/1", "t/n/1", "t/n/2", "t/n/3"].map(str::to_owned);
        ensure!(found == expected, "{found:?}");
        server.kill()?;
        server.start()?;
    }
    // Replaced by Bob, a message counts for him and not for Ann; a removal makes room.
    let mut ann = connect(&server, Version::V5, "ann", &secrets[0])?;
    let mut bob = connect(&server, Version::V5, "bob", &secrets[1])?;
    ensure!(is_retained(&mut bob, "t/ann/2", b"x", 1)?);
    ensure!(is_retained(&mut ann, "t/ann/4", b"x", 1)?);
    ensure!(!is_retained(&mut ann, "t/ann/5", b"x", 1)?);
    ensure!(is_retained(&mut ann, "t/ann/4", b"", 1)?, "a removal is always taken");
    ensure!(is_retained(&mut ann, "t/ann/5", b"x", 2)?);
    // The bytes have a quota too.
    ensure!(!is_retained(&mut ann, "t/ann/5", &[b'x'; 2_000], 1)?);
    server.kill()
}

#[test]
fn each_version_and_qos_is_refused_as_a_full_store_refuses_it() -> Result<()> {
    let place = tempfile::tempdir()?;
    let mut server = server(place.path())?;
    let mut reader = Device::clean(server.mqtt, Version::V5, "reader")?;
    let secret = issue(&server, "ann")?;
    let mut ann = connect(&server, Version::V5, "ann", &secret)?;
    for number in 1..=3 {
        ensure!(is_retained(&mut ann, &format!("t/{number}"), b"x", 1)?);
    }
    reader.subscribe(&["over/#"], 0)?;
    for version in VERSIONS {
        for qos in [1, 2] {
            let mut ann = connect(&server, version, "ann", &secret)?;
            ann.send(&Publish::new("over/refused", b"x").qos(qos, 7).retained().encode(version))?;
            if version == Version::V311 {
                // It has no code for a refusal: it gets no acknowledgement.
                ann.closed(stadium_testing::deadline::PATIENCE)?;
            } else {
                let answer = ann.expect(if qos == 2 { Kind::Pubrec } else { Kind::Puback })?;
                ensure!(answer.reason(version) == QUOTA_EXCEEDED, "{answer:?}");
                ann.ping()?;
            }
        }
        // Nobody hears of a refusal at QoS 0: the message is delivered, and not retained.
        let mut ann = connect(&server, version, "ann", &secret)?;
        ann.send(&Publish::new("over/delivered", b"x").retained().encode(version))?;
        ensure!(reader.receive()?.topic == "over/delivered");
        ann.ping()?;
    }
    let mut late = Device::clean(server.mqtt, Version::V5, "late")?;
    late.subscribe(&["over/#"], 0)?;
    late.ping()?;
    let metrics = server.api().plain("/metrics")?.1;
    ensure!(metrics.contains("stadium_retains_over_quota_total 6"), "{metrics}");
    ensure!(metrics.contains("stadium_retains_refused_total 0"), "{metrics}");
    server.kill()
}

/// The topics that the API lists, with the principals that set them.
fn listed(server: &Killable, query: &str) -> Result<Vec<(String, Option<String>)>> {
    let (status, page) = server.api().read(&format!("/api/retained?{query}"))?;
    ensure!(status == 200, "{status}: {page}");
    let messages = page["messages"].as_array().context("no messages")?;
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    messages
        .iter()
        .map(|one| Ok((text(&one["topic"]).context("no topic")?, text(&one["principal"]))))
        .collect()
}

#[test]
fn an_operator_lists_and_removes_retained_messages_for_good() -> Result<()> {
    let place = tempfile::tempdir()?;
    let mut server = server(place.path())?;
    let secret = issue(&server, "ann")?;
    let mut ann = connect(&server, Version::V5, "ann", &secret)?;
    let mut nobody = Device::clean(server.mqtt, Version::V5, "nobody")?;
    for number in 1..=3 {
        ensure!(is_retained(&mut ann, &format!("t/ann/{number}"), b"secret", 1)?);
    }
    ensure!(is_retained(&mut nobody, "t/n/1", b"x", 1)?);
    let ann_has = |numbers: &[u8]| -> Vec<_> {
        numbers.iter().map(|number| (format!("t/ann/{number}"), Some("ann".to_owned()))).collect()
    };
    // Owners and times are there after a kill.
    let before = server.api().read("/api/retained")?.1;
    server.kill()?;
    server.start()?;
    let after = server.api().read("/api/retained")?.1;
    ensure!(listed(&server, "principal=ann")? == ann_has(&[1, 2, 3]));
    ensure!(listed(&server, "principal=")? == [("t/n/1".to_owned(), Some(String::new()))]);
    ensure!(listed(&server, "filter=t/%2B/1")?.len() == 2);
    ensure!(after.to_string().find("secret").is_none(), "payloads are not shown");
    for page in [&before, &after] {
        let messages = page["messages"].as_array().context("no messages")?;
        ensure!(messages.len() == 4 && messages.iter().all(|one| one["set_at"].is_string()), "{page}");
    }
    // Nobody is sent anything by a removal.
    let mut reader = Device::clean(server.mqtt, Version::V5, "reader")?;
    reader.subscribe(&["elsewhere", "t/none/#"], 0)?;
    let purge = |query: &str| server.api().delete(&format!("/api/retained?{query}"));
    let dry = purge("principal=ann&dry_run=true")?;
    ensure!(dry.0 == 200 && dry.1["removed"] == 3, "{dry:?}");
    ensure!(listed(&server, "principal=ann")?.len() == 3);
    let part = purge("principal=ann&limit=2")?;
    ensure!(part.0 == 200 && part.1["removed"] == 2 && part.1["next"] == "t/ann/3", "{part:?}");
    ensure!(listed(&server, "principal=ann")? == ann_has(&[3]));
    reader.ping()?;
    // It is gone at the next start, and the quota is free.
    server.kill()?;
    server.start()?;
    ensure!(retained(&server)? == ["t/ann/3", "t/n/1"].map(str::to_owned));
    let mut ann = connect(&server, Version::V5, "ann", &secret)?;
    ensure!(is_retained(&mut ann, "t/ann/4", b"x", 1)? && is_retained(&mut ann, "t/ann/5", b"x", 1)?);
    ensure!(!is_retained(&mut ann, "t/ann/6", b"x", 1)?);
    let all = server.api().delete("/api/retained?filter=%23")?;
    ensure!(all.1["removed"] == 4 && all.1.get("next").is_none(), "{all:?}");
    ensure!(server.api().delete("/api/retained")?.0 == 400, "it wants to know which");
    ensure!(retained(&server)?.is_empty());
    server.kill()
}
