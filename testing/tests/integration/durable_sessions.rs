//! Sessions that persist and retained messages, on a server that is killed with SIGKILL.
//!
//! Raw packets, so that the suite decides what is acknowledged and when. Two shards and two loops,
//! so that messages between both occur.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use stadium_testing::deadline::{PATIENCE, until};
use stadium_testing::device::Device;
use stadium_testing::ports;
use stadium_testing::server::binary;
use stadium_testing::wire::{self, Connect, Kind, Publish, Received, VERSIONS, Version};
use tempfile::TempDir;

const QUOTA_EXCEEDED: u8 = 0x97;

const SETTINGS: &str = "[journal]\nsegment_bytes = 9437184\nreserve_bytes = 262144\n[shards]\ncount = 2\n";

/// A server whose data outlives it.
struct Server {
    place: TempDir,
    child: Option<Child>,
    http: SocketAddr,
    mqtt: SocketAddr,
    loops: u16,
}

impl Server {
    fn start() -> Result<Self> {
        Self::start_with("")
    }

    fn start_with(settings: &str) -> Result<Self> {
        let place = tempfile::tempdir()?;
        std::fs::write(place.path().join("stadium.toml"), [SETTINGS, settings].concat())?;
        let (http, mqtt) = (ports::free()?, ports::free()?);
        let mut server = Self { place, child: None, http, mqtt, loops: 2 };
        server.run()?;
        Ok(server)
    }

    fn path(&self) -> &Path {
        self.place.path()
    }

    fn run(&mut self) -> Result<()> {
        let log = std::fs::File::options().create(true).append(true).open(self.path().join("log"))?;
        let mut command = Command::new(binary()?);
        command.arg("serve").arg("--trial").arg("--config").arg(self.path().join("stadium.toml"));
        command.arg("--data").arg(self.path().join("data")).arg("--http").arg(self.http.to_string());
        command.arg("--mqtt").arg(self.mqtt.to_string()).args(["--rpc", "127.0.0.1:0"]);
        command.arg("--loops").arg(self.loops.to_string());
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = self.child.insert(command.spawn().context("cannot start the server")?);
        let mqtt = self.mqtt;
        let ready = until(PATIENCE, "the server to be ready", || {
            ensure!(child.try_wait()?.is_none(), "the server ended");
            // Connections wait in the kernel's queue until the sessions are back.
            Ok(Device::clean(mqtt, Version::V5, "ready").ok())
        });
        ready.with_context(|| self.log())?.leave()
    }

    /// SIGKILL, and a new process with the same data.
    fn kill(&mut self) -> Result<()> {
        self.end()?;
        self.run()
    }

    /// The same, with another number of event loops.
    fn kill_for_loops(&mut self, loops: u16) -> Result<()> {
        self.loops = loops;
        self.kill()
    }

    fn end(&mut self) -> Result<()> {
        if let Some(mut child) = self.child.take() {
            child.kill()?;
            child.wait()?;
        }
        Ok(())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path().join("log")).unwrap_or_default()
    }

    fn persistent(&self, version: Version, id: &str) -> Result<Device> {
        Device::connect(self.mqtt, &Connect::new(version, id).persistent())
    }

    fn clean(&self, id: &str) -> Result<Device> {
        Device::clean(self.mqtt, Version::V5, id)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of the server\n{}", self.log());
        }
        // It may have ended already.
        let _ = self.end();
    }
}

/// Publishes and waits until the server owns it.
fn publish(writer: &mut Device, topic: &str, payload: &str, qos: u8, id: u16) -> Result<()> {
    let bytes = Publish::new(topic, payload.as_bytes()).qos(qos, id).encode(writer.version());
    writer.send(&bytes)?;
    if qos == 1 {
        return accepted(writer, Kind::Puback);
    }
    accepted(writer, Kind::Pubrec)?;
    writer.send(&wire::acknowledge(Kind::Pubrel, id))?;
    accepted(writer, Kind::Pubcomp)
}

fn accepted(writer: &mut Device, kind: Kind) -> Result<()> {
    let answer = writer.expect(kind)?;
    let reason = answer.body.get(2).copied().unwrap_or(0);
    ensure!(reason < 0x80, "{kind:?} has {reason:#04x}");
    Ok(())
}

/// So many messages in the order in which they come, each acknowledged to the end.
fn take_all(reader: &mut Device, count: usize) -> Result<Vec<Received>> {
    let mut taken = Vec::new();
    let mut unreleased = 0;
    while taken.len() < count || unreleased > 0 {
        let packet = reader.next_packet().with_context(|| format!("after {} of {count}", taken.len()))?;
        if packet.is(Kind::Pubrel) {
            let id = u16::from_be_bytes([packet.body[0], packet.body[1]]);
            reader.send(&wire::acknowledge(Kind::Pubcomp, id))?;
            unreleased -= 1;
            continue;
        }
        ensure!(packet.is(Kind::Publish), "{packet:?}");
        let message = packet.publish(reader.version())?;
        match message.qos {
            1 => reader.send(&wire::acknowledge(Kind::Puback, message.id))?,
            2 => {
                reader.send(&wire::acknowledge(Kind::Pubrec, message.id))?;
                unreleased += 1;
            }
            _ => {}
        }
        taken.push(message);
    }
    Ok(taken)
}

/// The next message.
fn take(reader: &mut Device) -> Result<Received> {
    Ok(take_all(reader, 1)?.remove(0))
}

/// The payloads of so many messages, and that no more follow.
fn take_payloads(reader: &mut Device, count: usize) -> Result<Vec<String>> {
    let taken = take_all(reader, count)?;
    reader.ping()?;
    taken.into_iter().map(|message| Ok(String::from_utf8(message.payload)?)).collect()
}

#[test]
fn missed_messages_are_there_after_a_kill_in_order_and_once() -> Result<()> {
    let mut server = Server::start()?;
    let mut writer = server.clean("writer")?;
    for version in VERSIONS {
        let id = format!("reader-{version:?}");
        let mut reader = server.persistent(version, &id)?;
        ensure!(!reader.session_present());
        reader.subscribe(&["news/+"], 2)?;
        reader.leave()?;
    }
    // QoS 1 and 2 are two queues to the specification, one to us.
    for number in 1..=20_u16 {
        publish(&mut writer, "news/today", &number.to_string(), 1 + (number % 2) as u8, number)?;
    }
    server.kill()?;
    let mut writer = server.clean("writer")?;
    let mut readers = Vec::new();
    for version in VERSIONS {
        let mut reader = server.persistent(version, &format!("reader-{version:?}"))?;
        ensure!(reader.session_present(), "{version:?}");
        let payloads = take_payloads(&mut reader, 20).with_context(|| format!("{version:?}"))?;
        let wanted: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
        ensure!(payloads == wanted, "{version:?} got {payloads:?}");
        readers.push(reader);
    }
    // Subscribed still, without another SUBSCRIBE.
    publish(&mut writer, "news/later", "later", 1, 7)?;
    for mut reader in readers {
        ensure!(take_payloads(&mut reader, 1)? == ["later"]);
        reader.leave()?;
    }
    // A message that was acknowledged and is durable does not come back.
    std::thread::sleep(Duration::from_millis(200));
    server.kill()?;
    for version in VERSIONS {
        let mut reader = server.persistent(version, &format!("reader-{version:?}"))?;
        ensure!(reader.session_present());
        reader.ping()?;
    }
    Ok(())
}

#[test]
fn a_message_in_flight_when_the_server_is_killed_is_sent_again_with_its_identifier() -> Result<()> {
    let mut server = Server::start()?;
    for qos in [1, 2] {
        let id = format!("reader-{qos}");
        let mut reader = server.persistent(Version::V5, &id)?;
        reader.subscribe(&[&id], qos)?;
        let mut writer = server.clean("writer")?;
        publish(&mut writer, &id, "in flight", qos, 1)?;
        let first = reader.receive()?;
        ensure!(first.qos == qos && !first.duplicate, "{first:?}");
        server.kill()?;
        let mut reader = server.persistent(Version::V5, &id)?;
        let again = take(&mut reader)?;
        ensure!(again.duplicate && again.id == first.id && again.payload == b"in flight", "{again:?}");
        reader.ping()?;
    }
    Ok(())
}

#[test]
fn a_publish_at_qos_2_reaches_everybody_once_across_a_kill() -> Result<()> {
    let mut server = Server::start()?;
    // Several readers and writers, so that some share a shard or a loop and some do not.
    let readers = ["r-one", "r-two", "r-three"];
    for id in readers {
        let mut reader = server.persistent(Version::V5, id)?;
        reader.subscribe(&["once"], 2)?;
        reader.leave()?;
    }
    let writers = ["w-one", "w-two", "w-three", "w-four"];
    let mut open = Vec::new();
    for id in writers {
        let mut writer = server.persistent(Version::V5, id)?;
        writer.send(&Publish::new("once", id.as_bytes()).qos(2, 9).encode(Version::V5))?;
        accepted(&mut writer, Kind::Pubrec)?;
        open.push(writer);
    }
    server.kill()?;
    drop(open);
    for id in writers {
        // The PUBREC was lost on its way, for all the writer knows: it sends the same again.
        let mut writer = server.persistent(Version::V5, id)?;
        ensure!(writer.session_present(), "{id}");
        let mut bytes = Publish::new("once", id.as_bytes()).qos(2, 9).encode(Version::V5);
        bytes[0] |= 8;
        writer.send(&bytes)?;
        accepted(&mut writer, Kind::Pubrec)?;
        writer.send(&wire::acknowledge(Kind::Pubrel, 9))?;
        accepted(&mut writer, Kind::Pubcomp)?;
        // Released, the identifier stands for another message.
        publish(&mut writer, "once", &format!("{id} again"), 2, 9)?;
    }
    server.kill()?;
    for id in readers {
        let mut reader = server.persistent(Version::V5, id)?;
        let mut heard = take_payloads(&mut reader, 2 * writers.len()).with_context(|| id)?;
        heard.sort_unstable();
        let mut wanted: Vec<String> =
            writers.iter().flat_map(|id| [(*id).to_owned(), format!("{id} again")]).collect();
        wanted.sort_unstable();
        ensure!(heard == wanted, "{id} heard {heard:?}");
    }
    Ok(())
}

#[test]
fn qos_2_is_exactly_once_although_the_number_of_loops_changes() -> Result<()> {
    let mut server = Server::start()?;
    server.kill_for_loops(4)?;
    let readers: Vec<String> = (0..16).map(|number| format!("reader-{number}")).collect();
    for id in &readers {
        let mut reader = server.persistent(Version::V5, id)?;
        reader.subscribe(&["once"], 2)?;
        reader.leave()?;
    }
    let send = |writer: &mut Device, payload: &str| -> Result<()> {
        writer.send(&Publish::new("once", payload.as_bytes()).qos(2, 7).encode(Version::V5))?;
        accepted(writer, Kind::Pubrec)
    };
    let release = |writer: &mut Device| -> Result<()> {
        writer.send(&wire::acknowledge(Kind::Pubrel, 7))?;
        accepted(writer, Kind::Pubcomp)
    };
    // Its PUBREC came, its PUBREL goes to a server with other loops; and so on.
    for (payload, loops) in [("first", 2), ("second", 1), ("third", 3)] {
        let mut writer = server.persistent(Version::V5, "writer")?;
        send(&mut writer, payload)?;
        server.kill_for_loops(loops)?;
        let mut writer = server.persistent(Version::V5, "writer")?;
        ensure!(writer.session_present(), "the writer has its session");
        send(&mut writer, payload)?;
        release(&mut writer)?;
    }
    for id in &readers {
        let mut reader = server.persistent(Version::V5, id)?;
        let heard = take_payloads(&mut reader, 3).with_context(|| id.clone())?;
        ensure!(heard == ["first", "second", "third"], "{id} heard {heard:?}");
    }
    Ok(())
}

#[test]
fn a_publish_that_one_shard_has_no_room_for_reaches_nobody_and_everybody_once_when_it_has() -> Result<()> {
    let mut server = Server::start_with("[session]\nmessage_bytes_max = 1048576\n")?;
    server.kill_for_loops(4)?;
    // Of eight readers some are kept by each of the two shards.
    let mut readers = Vec::new();
    for number in 0..8 {
        let mut reader = server.persistent(Version::V5, &format!("reader-{number}"))?;
        reader.subscribe(&["all"], 2)?;
        readers.push(reader);
    }
    // One that is away fills its shard.
    let mut away = server.persistent(Version::V5, "away")?;
    away.subscribe(&["away"], 1)?;
    away.leave()?;
    let mut writer = server.persistent(Version::V5, "writer")?;
    let large = vec![b'x'; 100_000];
    let mut publish_raw = |topic: &str, payload: &[u8], qos: u8, id: u16| -> Result<u8> {
        writer.send(&Publish::new(topic, payload).qos(qos, id).encode(Version::V5))?;
        let answer = writer.expect(if qos == 1 { Kind::Puback } else { Kind::Pubrec })?;
        let reason = answer.body.get(2).copied().unwrap_or(0);
        if qos == 2 && reason < 0x80 {
            writer.send(&wire::acknowledge(Kind::Pubrel, id))?;
            writer.expect(Kind::Pubcomp)?;
        }
        Ok(reason)
    };
    let kept = (1..).take_while(|&id| matches!(publish_raw("away", &large, 1, id), Ok(0))).count();
    ensure!((5..=11).contains(&kept), "{kept} messages of 100 KB fill a megabyte");
    for (qos, id) in [(2, 100), (1, 101), (2, 100)] {
        ensure!(publish_raw("all", &large, qos, id)? == QUOTA_EXCEEDED, "at QoS {qos}");
    }
    for reader in &mut readers {
        // Nothing stands in front of the answer.
        reader.ping()?;
    }
    let mut away = server.persistent(Version::V5, "away")?;
    take_all(&mut away, kept)?;
    away.ping()?;
    // The same identifier again, as soon as the acknowledgements are taken in.
    until(PATIENCE, "room for the message", || Ok((publish_raw("all", &large, 2, 100)? == 0).then_some(())))?;
    for reader in &mut readers {
        let taken = take_all(reader, 1)?;
        ensure!(taken[0].payload == large && !taken[0].duplicate);
        reader.ping()?;
    }
    server.kill()?;
    for number in 0..8 {
        let mut reader = server.persistent(Version::V5, &format!("reader-{number}"))?;
        ensure!(reader.session_present());
        reader.send(&wire::PINGREQ)?;
        // A release may be repeated, the message is not.
        loop {
            let packet = reader.next_packet()?;
            ensure!(!packet.is(Kind::Publish), "reader-{number} got {packet:?}");
            if packet.is(Kind::Pingresp) {
                break;
            }
        }
    }
    Ok(())
}

#[test]
fn retained_messages_survive_and_removed_ones_stay_away() -> Result<()> {
    let mut server = Server::start()?;
    let mut writer = server.clean("writer")?;
    for number in 1..=3_u16 {
        let topic = format!("kept/{number}");
        for text in ["old", "new"] {
            writer.publish(&Publish::new(&topic, text.as_bytes()).qos(1, number).retained())?;
        }
    }
    writer.publish(&Publish::new("kept/2", b"").qos(1, 8).retained())?;
    for _ in 0..2 {
        server.kill()?;
        let mut reader = server.clean("reader")?;
        reader.subscribe(&["kept/#"], 1)?;
        let mut topics = Vec::new();
        for _ in 0..2 {
            let message = reader.take()?;
            ensure!(message.payload == b"new" && message.retain, "{message:?}");
            topics.push(message.topic);
        }
        topics.sort_unstable();
        ensure!(topics == ["kept/1", "kept/3"], "{topics:?}");
        reader.ping()?;
    }
    Ok(())
}

/// CONNECT of MQTT 5.0 with a session expiry and a will with a delay.
fn with_will(id: &str, expiry_s: u32, delay_s: u32) -> Vec<u8> {
    let mut body = wire::text("MQTT");
    body.extend([5, 0b0000_1100, 0, 0, 5, 0x11]);
    body.extend(expiry_s.to_be_bytes());
    body.extend(wire::text(id));
    body.extend([5, 0x18]);
    body.extend(delay_s.to_be_bytes());
    body.extend(wire::text(format!("wills/{id}")));
    body.extend(wire::text("farewell"));
    wire::packet(0x10, &body)
}

fn connect_with_will(server: &Server, id: &str, expiry_s: u32, delay_s: u32) -> Result<Device> {
    let mut device = Device::dial(server.mqtt, Version::V5)?;
    device.send(&with_will(id, expiry_s, delay_s))?;
    let connack = device.expect(Kind::Connack)?;
    ensure!(connack.reason(Version::V5) == 0);
    Ok(device)
}

#[test]
fn wills_and_sessions_end_when_they_were_to_although_the_server_was_killed() -> Result<()> {
    let mut server = Server::start()?;
    let mut watcher = server.persistent(Version::V5, "watcher")?;
    watcher.subscribe(&["wills/+"], 1)?;
    watcher.leave()?;
    let soon = connect_with_will(&server, "soon", 600, 1)?;
    let never = connect_with_will(&server, "back-in-time", 600, 600)?;
    let short = connect_with_will(&server, "short", 1, 600)?;
    let connected = connect_with_will(&server, "connected", 600, 1)?;
    let began = Instant::now();
    for device in [soon, never, short] {
        device.cut()?;
    }
    // Its presence is durable when its successor in the same shard was answered.
    let mut again = server.clean("again")?;
    again.ping()?;
    std::thread::sleep(Duration::from_millis(200));
    server.kill()?;
    drop(connected);
    ensure!(began.elapsed() < Duration::from_secs(60), "the server takes too long to start");
    let mut watcher = server.persistent(Version::V5, "watcher")?;
    let mut heard: Vec<String> = (0..3).map(|_| Ok(take(&mut watcher)?.topic)).collect::<Result<_>>()?;
    heard.sort_unstable();
    ensure!(heard == ["wills/connected", "wills/short", "wills/soon"], "{heard:?}");
    watcher.ping()?;
    // The session of the short one is over, the other two go on.
    let present = |id: &str| -> Result<bool> { Ok(server.persistent(Version::V5, id)?.session_present()) };
    ensure!(!present("short")?);
    ensure!(present("soon")? && present("back-in-time")? && present("connected")?);
    Ok(())
}

#[test]
fn a_session_that_ended_does_not_come_back() -> Result<()> {
    let mut server = Server::start()?;
    let mut gone = server.persistent(Version::V311, "gone")?;
    gone.subscribe(&["t"], 1)?;
    gone.leave()?;
    let mut unsubscribed = server.persistent(Version::V5, "unsubscribed")?;
    unsubscribed.subscribe(&["t", "u"], 1)?;
    let mut body = vec![0, 2, 0];
    body.extend(wire::text("t"));
    unsubscribed.send(&wire::packet(0xa2, &body))?;
    unsubscribed.expect(Kind::Unsuback)?;
    // A clean session takes the place of the one that was kept.
    Device::clean(server.mqtt, Version::V311, "gone")?.leave()?;
    server.kill()?;
    ensure!(!server.persistent(Version::V311, "gone")?.session_present());
    let mut unsubscribed = server.persistent(Version::V5, "unsubscribed")?;
    ensure!(unsubscribed.session_present());
    let mut writer = server.clean("writer")?;
    publish(&mut writer, "t", "nobody", 1, 1)?;
    publish(&mut writer, "u", "one", 1, 2)?;
    ensure!(take_payloads(&mut unsubscribed, 1)? == ["one"]);
    Ok(())
}

#[test]
fn packets_behind_a_connect_that_waits_are_read_when_it_is_durable() -> Result<()> {
    let server = Server::start()?;
    for version in VERSIONS {
        let id = format!("eager-{version:?}");
        let mut device = Device::dial(server.mqtt, version)?;
        let connect = Connect::new(version, &id).persistent().encode();
        let subscribe = wire::subscribe(version, 3, &["t"], 1);
        let publish = Publish::new("t", b"to itself").qos(1, 4).encode(version);
        device.send(&[connect, subscribe, publish, wire::PINGREQ.to_vec()].concat())?;
        let mut kinds = Vec::new();
        while kinds.len() < 5 {
            kinds.push(
                device.next_packet().with_context(|| format!("{version:?} after {kinds:?}"))?.first >> 4,
            );
        }
        ensure!(kinds[0] == Kind::Connack as u8, "{kinds:?}");
        kinds.sort_unstable();
        let wanted = [Kind::Connack, Kind::Publish, Kind::Puback, Kind::Suback, Kind::Pingresp];
        ensure!(kinds == wanted.map(|kind| kind as u8), "{kinds:?}");
    }
    Ok(())
}
