//! Publishes of devices become events of their app's feeds: durable before it is acknowledged, and
//! read by a service as a stream.
//!
//! The events are read by the queue's RPC stream `Work`, by frames written by hand, as any service would.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use stadium_testing::device::Device;
use stadium_testing::killable::Killable;
use stadium_testing::rsocket::{Raw, flag, frame, kind, length, payload, route};
use stadium_testing::wire::{self, Kind, Publish, Version};

const SETTINGS: &str = "[shards]\ncount = 2\n[journal]\nsegment_bytes = 16777216\nreserve_bytes = 33554432\n";

/// Where the server's services listen.
fn rpc(data: &Path) -> Result<SocketAddr> {
    let running: Value = serde_json::from_slice(&std::fs::read(data.join("running.json"))?)?;
    let listeners = running["listeners"].as_array().context("no listeners")?;
    let rpc = listeners.iter().find(|listener| listener["name"] == "rpc").context("no rpc")?;
    Ok(rpc["address"].as_str().context("no address")?.parse()?)
}

/// A stream of jobs, opened with an API key.
fn work(rpc: SocketAddr, key: &str, queue: &str) -> Result<Raw> {
    let token = [&[0x81][..], key.as_bytes()].concat();
    let metadata = [route("queue/Work"), [&[0xFC][..], &length(token.len()), &token].concat()].concat();
    let request = [&[0x0a, u8::try_from(queue.len())?][..], queue.as_bytes()].concat();
    let body = [&100_u32.to_be_bytes()[..], &payload(&metadata, &request)].concat();
    let mut raw = Raw::set_up(rpc)?;
    raw.send(&frame(1, kind::REQUEST_STREAM, flag::METADATA, &body))?;
    Ok(raw)
}

/// The payload of the next job: field 3 of a stadium.v1.ReservedJob, which begins with a fixed64 and a varint.
fn next_job(work: &mut Raw) -> Result<Value> {
    let frame = work.frame_of(1)?;
    ensure!(frame.kind == kind::PAYLOAD, "{}", String::from_utf8_lossy(&frame.body));
    let mut rest = &frame.body[..];
    while let Some((&tag, behind)) = rest.split_first() {
        match tag {
            0x09 => rest = &behind[8..],
            0x1a => {
                let (bytes, at) = varint(behind);
                return Ok(serde_json::from_slice(&behind[at..at + bytes])?);
            }
            _ => rest = &behind[varint(behind).1..],
        }
    }
    anyhow::bail!("a job without a payload: {:02x?}", frame.body)
}

fn varint(bytes: &[u8]) -> (usize, usize) {
    let length = bytes.iter().position(|byte| byte & 0x80 == 0).map_or(bytes.len(), |at| at + 1);
    let value = bytes[..length].iter().rev().fold(0, |value, byte| value << 7 | usize::from(byte & 0x7f));
    (value, length)
}

/// Events by topic, until so many are there.
fn events(work: &mut Raw, feed: &str, count: usize) -> Result<BTreeMap<String, Value>> {
    let mut events = BTreeMap::new();
    while events.len() < count {
        let job = next_job(work)?;
        ensure!(job["app"] == "shop" && job["feed"] == feed, "{job}");
        for event in job["events"].as_array().context("no events")? {
            let topic = event["topic"].as_str().context("no topic")?.to_owned();
            ensure!(events.insert(topic, event.clone()).is_none(), "{event} came twice");
        }
    }
    Ok(events)
}

#[test]
fn a_publish_is_durable_in_its_feeds_queue_before_it_is_acknowledged() -> Result<()> {
    let place = tempfile::tempdir()?;
    let data = place.path().join("data");
    let mut server = Killable::new(place.path(), &data, SETTINGS)?;
    server.start()?;
    let api = server.api();
    let feeds = json!({"feeds": [
        {"name": "up", "kinds": ["message"], "topics": ["up/+", "deep/#"]},
        {"name": "all", "kinds": ["message", "connected"], "topics": ["#"]},
    ]});
    let (status, answer) = api.put("/api/apps/shop", &feeds)?;
    ensure!(status < 300, "{status}: {answer}");
    let (status, wrong) =
        api.put("/api/apps/shop", &json!({"feeds": [{"name": "up", "kinds": ["message"]}]}))?;
    ensure!(status == 400 || status == 422, "{status}: {wrong}");
    ensure!(wrong["detail"].as_str().is_some_and(|detail| detail.contains("no topics")), "{wrong}");
    let (_, shown) = api.read("/api/apps/shop")?;
    ensure!(shown["settings"]["feeds"][0]["topics"] == json!(["up/+", "deep/#"]), "{shown}");
    // A server that starts knows the feeds before it lets devices in.
    server.kill()?;
    server.start()?;

    let mut till = Device::clean(server.mqtt, Version::V5, "shop/till-1")?;
    let mut stranger = Device::clean(server.mqtt, Version::V5, "till-2")?;
    stranger.publish(&Publish::new("up/stranger", b"of another app").qos(1, 1))?;
    till.publish(&Publish::new("up/not/this", b"deeper than the filter").qos(1, 1))?;
    till.publish(&Publish::new("up/at-most-once", b"0"))?;
    till.publish(&Publish::new("up/binary", &[0xff, 0x00]).qos(1, 2))?;
    let large = vec![b'x'; 70_000];
    till.publish(&Publish::new("deep/er/large", &large).qos(1, 3))?;
    till.send(&Publish::new("up/exactly-once", b"2").qos(2, 4).encode(Version::V5))?;
    till.expect(Kind::Pubrec)?;
    till.send(&wire::acknowledge(Kind::Pubrel, 4))?;
    till.expect(Kind::Pubcomp)?;
    till.publish(&Publish::new("up/last", "grüß".as_bytes()).qos(1, 5))?;
    // An acknowledged publish outlives the server.
    server.kill()?;
    server.start()?;

    let key = server.api().admin_key()?;
    let mut stream = work(rpc(&data)?, &key, "events.shop.up")?;
    let published = events(&mut stream, "up", 5)?;
    let topics: Vec<&str> = published.keys().map(String::as_str).collect();
    ensure!(
        topics == ["deep/er/large", "up/at-most-once", "up/binary", "up/exactly-once", "up/last"],
        "{published:?}"
    );
    for (topic, qos, name, shown) in [
        ("up/at-most-once", 0, "payload", json!("0")),
        ("up/binary", 1, "payload_base64", json!("/wA=")),
        ("up/exactly-once", 2, "payload", json!("2")),
        ("up/last", 1, "payload", json!("grüß")),
        ("deep/er/large", 1, "payload_bytes", json!(70_000)),
    ] {
        let event = &published[topic];
        ensure!(event["kind"] == "message" && event["device"] == "till-1", "{event}");
        ensure!(event["qos"] == qos && event[name] == shown && event["at"].is_string(), "{event}");
    }
    let mut stream = work(rpc(&data)?, &key, "events.shop.all")?;
    ensure!(events(&mut stream, "all", 6)?.contains_key("up/not/this"));
    Ok(())
}
