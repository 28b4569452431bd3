//! The format as fixtures hold it: events of any version are read for ever, and those of the newest
//! version are written the same today.
//!
//! `tests/fixtures/v*/events` has one event of each kind, `checkpoint` the chunks of the state
//! after them, each behind its length. A change of either is a new version, beside the old ones.
//! Version 2 names retained messages that are over, and remembers publishes at QoS 2 with their
//! receivers. Version 3 takes parts of publishes back, and distinguishes copies by shared
//! subscriptions. Version 4 has the owners of retained messages, and when these were set.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use compact_str::CompactString;
use stadium_session::{
    Answer, Bounds, Change, Command, Connect, Keep, Message, Origin, Part, Place, Presence, Receiver,
    RetainedImage, SessionImage, Sessions, Subscription, Time, Will, Withdraw,
};
use stadium_state_machine::{
    Checkpointed as _, Executed, Lookup, MachineState as _, Record, Section, StateMachine,
};

const NOW: Time = Time(1_700_000_000_000);

fn machine() -> Sessions {
    Sessions::new(Place { shard: 0, shards: 1, hash_seed: 1 }, Bounds::default())
}

/// What a version wrote.
fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What the newest version wrote. `STADIUM_WRITE_FIXTURE=1` writes it anew, which is right only before that version is released.
fn newest(name: &str, today: &[u8]) -> Vec<u8> {
    if std::env::var_os("STADIUM_WRITE_FIXTURE").is_some() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder can be made");
        std::fs::write(&path, today).expect("the fixture can be written");
    }
    fixture(name)
}

fn message(topic: &str, payload: &[u8], qos: u8, retain: bool, expires_at: Option<Time>) -> Arc<Message> {
    let mut message = Message::from_parts(topic, &[1, 1], payload).expect("short parts");
    (message.qos, message.retain, message.expires_at) = (qos, retain, expires_at);
    Arc::new(message)
}

fn connect(client: &str, incarnation: u64, will: Option<Will>) -> Change {
    let identity = Bytes::from_static(br#"{"principal":"ann","via":"password"}"#);
    let (version, expiry_s) = if will.is_some() { (5, 600) } else { (4, u32::MAX) };
    Change::Connect(Box::new(Connect {
        client: client.into(),
        incarnation,
        version,
        expiry_s,
        identity,
        will,
    }))
}

fn receiver(client: &str, delivery: u32, qos: u8) -> Receiver {
    Receiver { client: client.into(), delivery, qos, retain: delivery == 2, shared: 1, ids: [7, 300].into() }
}

fn keep(payload: &[u8], receivers: Vec<Receiver>, origin: Option<Origin>, publisher: Option<&str>) -> Change {
    let message = message("news/today", payload, 2, false, Some(Time(NOW.0 + 60_000)));
    Change::Keep(Box::new(Keep { message, receivers, origin, publisher: publisher.map(Into::into) }))
}

fn withdraw(receivers: Vec<(CompactString, u32)>, origin: Option<Origin>, publisher: Option<&str>) -> Change {
    Change::Withdraw(Box::new(Withdraw { receivers, origin, publisher: publisher.map(Into::into) }))
}

fn retain(number: u64, owner: Option<&str>, message: Arc<Message>) -> Change {
    Change::Retain { number, owner: owner.map(Into::into), message }
}

/// One change of each kind, and of each shape that its event has.
fn changes() -> Vec<Change> {
    let phone = || "phone".into();
    let origin = |packet_id| Some(Origin { incarnation: u64::MAX, packet_id });
    let will = Will {
        id: 1 << 40,
        message: message("gone", b"phone", 1, true, None),
        delay_s: 5,
        expiry_s: Some(30),
    };
    let presence = Presence::Away { ends_at: Some(Time(NOW.0 + 600_000)), will_at: None, sent_below: 3 };
    let subscription =
        |filter: &str, id, shared| Subscription { filter: filter.into(), options: 0x2e, id, shared };
    vec![
        connect("phone", 300, Some(will)),
        connect("old", 1, None),
        connect("ends", 2, None),
        Change::Subscribe { client: phone(), subscription: subscription("news/+", Some(7), 0) },
        Change::Subscribe { client: phone(), subscription: subscription("$share/g/work", None, 1) },
        Change::Subscribe { client: phone(), subscription: subscription("gone", None, 0) },
        Change::Unsubscribe { client: phone(), filter: "gone".into() },
        keep(b"one", vec![receiver("phone", 1, 1), receiver("old", 1, 2)], None, None),
        keep(b"two", vec![receiver("phone", 2, 2)], origin(9), None),
        keep(b"three", vec![receiver("phone", 3, 2), receiver("ends", 1, 1)], origin(10), Some("old")),
        keep(b"four", vec![receiver("old", 2, 1)], origin(11), None),
        Change::Received { client: phone(), delivery: 2 },
        Change::Done { client: phone(), deliveries: vec![1, 900] },
        Change::Unreleased { client: "old".into(), packet_id: 65_535 },
        Change::Unreleased { client: "old".into(), packet_id: 4 },
        Change::Released { client: "old".into(), packet_id: 4 },
        Change::Forget { origin: Origin { incarnation: u64::MAX, packet_id: 11 } },
        retain(1, Some("ann"), message("state", b"on", 1, true, None)),
        retain(2, None, message("removed", b"", 0, true, None)),
        retain(3, Some(""), message("over", b"soon", 0, true, Some(NOW))),
        Change::WillGone { client: phone(), will: 1 << 40 },
        Change::Disconnect { client: phone(), presence },
        Change::Disconnect { client: "old".into(), presence: Presence::Here },
        Change::End { client: "ends".into(), incarnation: None },
        keep(b"five", vec![receiver("phone", 5, 1)], origin(12), None),
        keep(b"six", vec![receiver("phone", 6, 1)], origin(13), Some("old")),
        withdraw(vec![("phone".into(), 5)], origin(12), None),
        withdraw(vec![("phone".into(), 6)], origin(13), Some("old")),
    ]
}

/// The events of all changes, and of the time that passes.
fn written() -> (Sessions, Vec<u8>) {
    let mut machine = machine();
    let mut record = Record::new();
    record.begin(0);
    let command = Command::Batch(changes());
    machine.execute(0, NOW, 0, &command, &mut record).expect("a batch is taken");
    machine.tick(0, NOW, 0, &mut record, 10);
    (machine, record.events().to_vec())
}

fn chunks(machine: &mut Sessions) -> Vec<u8> {
    let mut all = Vec::new();
    machine.checkpoint_begin();
    let mut more = true;
    while more {
        let mut chunk = Vec::new();
        more = machine.checkpoint_next(&mut chunk, 64);
        all.extend((chunk.len() as u32).to_le_bytes());
        all.append(&mut chunk);
    }
    all
}

type Images = (Vec<SessionImage>, Vec<RetainedImage>);

fn images(machine: &mut Sessions) -> Images {
    let mut page = |part| match machine.read(NOW, &Command::Page { part, from: 0, entries_max: 100 }) {
        Ok(Lookup::Answer(Answer::Page(page))) => page,
        other => panic!("{other:?}"),
    };
    (page(Part::Sessions).sessions, page(Part::Retained).retained)
}

#[test]
fn events_are_written_as_version_4_has_them() {
    let (_, events) = written();
    assert!(events == newest("v4/events", &events), "they are written in another way");
}

#[test]
fn events_of_all_versions_are_read() {
    for version in ["v1", "v2", "v3", "v4"] {
        events_are_read(&fixture(&format!("{version}/events")), version);
    }
}

/// The part of a state that a version keeps: up to version 3 no owners.
fn kept_by(version: &str, (sessions, mut retained): Images) -> Images {
    if version < "v4" {
        retained.iter_mut().for_each(|one| one.owner = None);
    }
    (sessions, retained)
}

fn events_are_read(events: &[u8], version: &str) {
    let (mut wrote, _) = written();
    let mut read = machine();
    read.apply(0, NOW, 0, events).expect("every version is read");
    assert_eq!(images(&mut read), kept_by(version, images(&mut wrote)));
    let (sessions, retained) = images(&mut read);
    let state = retained.iter().find(|one| one.number == 1).expect("it is retained");
    assert_eq!(state.owner.as_deref(), (version == "v4").then_some("ann"));
    assert_eq!(state.set_at, Some(NOW), "it is the time of the record");
    let phone = sessions.iter().find(|session| session.connect.client == "phone").expect("it is there");
    assert_eq!(phone.connect.will, None);
    assert_eq!(phone.subscriptions.len(), 2);
    let owed: Vec<_> =
        phone.owed.iter().map(|owed| (owed.delivery, owed.message.is_some(), owed.retain)).collect();
    assert_eq!(owed, [(2, false, true), (3, true, false)]);
    let old = sessions.iter().find(|session| session.connect.client == "old").expect("it is there");
    assert_eq!(old.unreleased, [10, 65_535]);
    assert_eq!((sessions.len(), retained.len()), (2, 2));
}

#[test]
fn checkpoints_are_written_as_version_4_has_them() {
    let today = chunks(&mut written().0);
    assert!(today == newest("v4/checkpoint", &today), "they are written in another way");
}

#[test]
fn checkpoints_of_all_versions_are_read() {
    for version in ["v1", "v2", "v3", "v4"] {
        checkpoint_is_read(&fixture(&format!("{version}/checkpoint")), version);
    }
}

fn checkpoint_is_read(checkpoint: &[u8], version: &str) {
    let (mut wrote, _) = written();
    let mut read = machine();
    let mut rest = checkpoint;
    while let Some((length, behind)) = rest.split_first_chunk() {
        let (chunk, behind) = behind.split_at(u32::from_le_bytes(*length) as usize);
        read.restore(chunk).expect("every version is read");
        rest = behind;
    }
    read.restore_finish().expect("all of it is there");
    let (sessions, mut retained) = kept_by(version, images(&mut wrote));
    if version < "v4" {
        retained.iter_mut().for_each(|one| one.set_at = None);
    }
    assert_eq!(images(&mut read), (sessions, retained));
    // A publish that was taken by its origin is known still.
    let again = Command::Batch(vec![keep(
        b"two",
        vec![receiver("phone", 4, 2)],
        Some(Origin { incarnation: u64::MAX, packet_id: 9 }),
        None,
    )]);
    let mut record = Record::new();
    record.begin(0);
    let answer = read.execute(1, NOW, 0, &again, &mut record);
    assert_eq!(answer, Ok(Executed::Done(Answer::Batch(vec![stadium_session::Outcome::Known]))));
}

#[test]
fn every_event_of_the_fixtures_is_described_without_payloads_and_identities() {
    let mut words = String::new();
    for version in ["v1", "v2", "v3", "v4"] {
        let events = fixture(&format!("{version}/events"));
        let mut described = Vec::new();
        Sessions::describe(
            Section { shard: 0, at: 0, time: NOW, offset: 0, events: &events },
            &mut described,
        )
        .expect("it is read");
        described.iter().for_each(|one| words.extend([one.text.as_str(), "\n"]));
    }
    for part in [
        " connected, session ",
        " subscribed to ",
        "owed to ",
        "(PUBREC)",
        "(PUBREL)",
        "retained as 1: state",
        "retained as 1, of ann: state",
        "retained as 3, of an anonymous client: over",
        "removed",
    ] {
        assert!(words.contains(part), "{part:?} in {words}");
    }
    assert!(!words.contains("principal"), "an identity is not shown");
}
