//! Peers that are slow on purpose: they never authenticate, dribble, or never read.
//!
//! Each is cut at its bound, the server's memory stays where it was, and everybody else is served meanwhile.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use stadium_testing::certificates::Authority;
use stadium_testing::deadline::{PATIENCE, until_true};
use stadium_testing::device::Device;
use stadium_testing::ports;
use stadium_testing::server::{Plan, Server};
use stadium_testing::wire::{self, Connect, Kind, Publish, Version, packet};

const MEGABYTE: u64 = 1 << 20;

#[test]
fn a_connection_without_connect_is_cut_in_time() -> Result<()> {
    let mut server = Server::with("[limits]\nbefore_auth_ms = 1000\n")?;
    let started = Instant::now();
    let mut silent = Device::dial(server.mqtt, Version::V5)?;
    let mut dribbling = Device::dial(server.mqtt, Version::V5)?;
    let connect = Connect::new(Version::V5, "a-client-id-that-takes-its-time").encode();
    dribbling.send(&connect[..5])?;
    ensure!(silent.end(PATIENCE)?.is_empty(), "a server sends nothing to a client that sent nothing");
    // More bytes must not buy more time.
    dribbling.send_if_open(&connect[5..6]);
    dribbling.end(PATIENCE)?;
    let took = started.elapsed();
    ensure!(took >= Duration::from_millis(900) && took < Duration::from_secs(6), "cut after {took:?}");
    server.must_still_serve()
}

#[test]
fn a_half_made_handshake_is_cut_in_time_on_every_transport() -> Result<()> {
    let authority = Authority::new()?;
    let own = authority.server()?;
    let (tls, ws) = (ports::free()?, ports::free()?);
    let settings = format!(
        "[limits]\nbefore_auth_ms = 1000\n[http]\nheader_ms = 1000\n[ws]\nlisten = \"{ws}\"\n\
         [mqtts]\ncertificate = {:?}\nkey = {:?}\n",
        own.certificate, own.key
    );
    let mut server = Server::start(Plan { settings, tls: Some(tls), ..Plan::default() })?;
    let upgrade = b"GET /mqtt HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n";
    let rows: [(&str, SocketAddr, &[u8]); 6] = [
        ("silence on the TLS port", tls, b""),
        ("half a ClientHello", tls, &[0x16, 3, 1, 1, 0, 1, 0, 0, 0xFC, 3, 3]),
        ("silence on the WebSocket port", ws, b""),
        ("half an upgrade", ws, upgrade),
        ("silence on the HTTP port", server.http, b""),
        ("half an upgrade on the HTTP port", server.http, upgrade),
    ];
    for (name, address, bytes) in rows {
        let started = Instant::now();
        let mut device = Device::dial(address, Version::V5)?;
        device.send(bytes)?;
        device.closed(Duration::from_secs(6)).context(name)?;
        ensure!(started.elapsed() >= Duration::from_millis(900), "{name}: cut after {:?}", started.elapsed());
    }
    server.must_still_serve()
}

#[test]
fn a_connect_larger_than_the_budget_is_cut() -> Result<()> {
    let mut server = Server::trial()?;
    let mut device = Device::dial(server.mqtt, Version::V5)?;
    // A CONNECT that claims 500 KB, sent but for its last byte: `limits.before_auth_bytes` is 384 KiB.
    let whole = packet(0x10, &[&b"\0\x04MQTT\x05\x02\0\0\0"[..], &vec![b'x'; 500_000]].concat());
    device.send_if_open(&whole[..whole.len() - 1]);
    let frames = device.end(Duration::from_secs(5))?;
    let reasons: Vec<u8> = frames.iter().map(|frame| frame.reason(Version::V5)).collect();
    ensure!(reasons.iter().all(|reason| [0x81, 0x95, 0x97].contains(reason)), "{reasons:02x?}");
    server.must_still_serve()
}

#[test]
fn a_thousand_half_open_connections_cost_little_and_keep_nobody_out() -> Result<()> {
    stadium_testing::process::raise_open_files();
    let mut server = Server::with("[limits]\nbefore_auth_ms = 5000\n")?;
    let before = server.resident_bytes()?;
    let mut devices = Vec::new();
    for _ in 0..1_000 {
        let mut device = Device::dial(server.mqtt, Version::V5)?;
        device.send_if_open(&packet(0x10, &[b'x'; 4_000])[..3_500]);
        devices.push(device);
    }
    server.must_still_serve()?;
    let grown = server.resident_bytes()?.saturating_sub(before);
    ensure!(grown < 12 * MEGABYTE, "1,000 half-open connections cost {grown} bytes");
    for mut device in devices {
        device.end(PATIENCE)?;
    }
    server.must_still_serve()
}

#[test]
fn readers_that_never_read_are_bounded_then_cut() -> Result<()> {
    let settings = "[limits]\nwrite_queue_bytes_max = 262144\nwrite_stall_ms = 2000\n[mqtt]\nsend_buffer_bytes = 65536\n";
    for qos in [0, 1] {
        let mut server = Server::with(settings)?;
        let mut stuck = Vec::new();
        for number in 0..50 {
            let mut device = Device::dial(server.mqtt, Version::V5)?;
            device.socket().set_recv_buffer_size(16_384)?;
            device.send(&Connect::new(Version::V5, format!("stuck-{number}")).encode())?;
            device.expect(Kind::Connack)?;
            device.subscribe(&["news"], qos)?;
            stuck.push(device);
        }
        let mut reader = Device::clean(server.mqtt, Version::V5, "reader")?;
        reader.subscribe(&["news"], qos)?;
        let before = server.resident_bytes()?;
        let mut writer = Device::clean(server.mqtt, Version::V5, "writer")?;
        // 200 messages of 64 KB to 50 readers that read nothing: 640 MB if all of it were kept.
        let payload = vec![7; 65_536];
        let mut highest = 0;
        for number in 0..200_u16 {
            writer.publish(&Publish::new("news", &payload).qos(1, number + 1))?;
            ensure!(reader.take()?.payload.len() == payload.len(), "the reader that reads gets all");
            highest = highest.max(server.resident_bytes()?);
        }
        let grown = highest.saturating_sub(before);
        ensure!(grown < 96 * MEGABYTE, "QoS {qos}: 50 slow readers cost {grown} bytes");
        until_true(PATIENCE, "every slow reader to be cut", || {
            let api = server.api();
            let away: Result<Vec<bool>> = (0..50).map(|n| api.connected(&format!("stuck-{n}"))).collect();
            Ok(!away?.contains(&true))
        })?;
        drop(stuck);
        server.must_still_serve().with_context(|| format!("QoS {qos}"))?;
    }
    Ok(())
}

#[test]
fn a_device_that_sends_and_never_reads_its_acknowledgements_is_bounded() -> Result<()> {
    let mut server = Server::with(
        "[limits]\nwrite_queue_bytes_max = 65536\nwrite_stall_ms = 2000\n[mqtt]\nsend_buffer_bytes = 16384\n",
    )?;
    let before = server.resident_bytes()?;
    let mut device = Device::clean(server.mqtt, Version::V5, "deaf")?;
    device.socket().set_recv_buffer_size(4_096)?;
    device.socket().set_write_timeout(Some(Duration::from_secs(1)))?;
    let pings = wire::PINGREQ.repeat(50_000);
    for _ in 0..200 {
        device.send_if_open(&pings);
        if device.send(&wire::PINGREQ).is_err() {
            break;
        }
    }
    let grown = server.resident_bytes()?.saturating_sub(before);
    ensure!(grown < 16 * MEGABYTE, "unread answers cost {grown} bytes");
    server.must_still_serve()
}

#[test]
fn queues_of_a_device_that_is_away_are_bounded() -> Result<()> {
    // Messages that are kept for the device pass through the journal, whose buffers are bounded by
    // settings of their own: as small as they may be, since this is about the queue.
    let mut server = Server::with(
        "[limits]\nsession_messages_max = 100\n[shards]\ncount = 1\n[journal]\ntail_bytes = 65536\nunsynced_bytes_max = 1048576\n",
    )?;
    let persistent = Connect::new(Version::V5, "away").persistent();
    let mut away = Device::connect(server.mqtt, &persistent)?;
    away.subscribe(&["news"], 1)?;
    away.leave()?;
    let before = server.resident_bytes()?;
    let mut writer = Device::clean(server.mqtt, Version::V5, "writer")?;
    let payload = |number: u16| [&number.to_be_bytes()[..], &vec![0; 10_000]].concat();
    for number in 0..5_000_u16 {
        writer.publish(&Publish::new("news", &payload(number)).qos(1, number + 1))?;
    }
    let grown = server.resident_bytes()?.saturating_sub(before);
    ensure!(grown < 40 * MEGABYTE, "a queue of at most 1 MB cost {grown} bytes");
    let mut back = Device::connect(server.mqtt, &persistent)?;
    ensure!(back.session_present());
    // The oldest was dropped: the newest are left, in order.
    let first = back.take()?;
    let first_number = u16::from_be_bytes([first.payload[0], first.payload[1]]);
    ensure!(first_number >= 4_900, "the first message kept is {first_number}");
    for number in first_number + 1..5_000 {
        let next = back.take()?;
        ensure!(next.payload[..2] == number.to_be_bytes());
    }
    server.must_still_serve()
}
