//! Fuzz bodies: any bytes as events of the MQTT sessions, and as a chunk of their checkpoint. Input that
//! is taken must leave a machine that works and can be saved; all other input is refused. Nothing panics.
//!
//! Ordinary functions, so that the stable test `fuzz` of crates/session runs them as well.

use std::sync::Arc;

use stadium_session::{Bounds, Change, Command, Keep, Message, Part, Place, Receiver, Sessions, Time};
use stadium_state_machine::{MachineState as _, Record, StateMachine};

use crate::state_machine::Subject;

/// The time of the fixture's events.
pub const NOW: Time = Time(1_700_000_000_000);

/// One event of each kind, as the fixture of version 1 has them.
pub const EVENTS: &[u8] = include_bytes!("../../crates/session/tests/fixtures/v1/events");

/// The same of version 2.
pub const EVENTS_2: &[u8] = include_bytes!("../../crates/session/tests/fixtures/v2/events");

pub const SESSIONS: Subject<Sessions> = Subject { empty, works };

fn empty() -> Sessions {
    let bounds =
        Bounds { sessions_max: 8, deliveries_max: 16, retained_max: 8, origins_max: 4, ..Bounds::default() };
    Sessions::new(Place { shard: 0, shards: 1, hash_seed: 1 }, bounds)
}

/// Sessions with something in each table.
pub fn some_sessions() -> Sessions {
    let mut sessions = empty();
    sessions.apply(0, NOW, 0, EVENTS).expect("version 1 is read");
    sessions.apply(0, NOW, 0, EVENTS_2).expect("version 2 is read");
    sessions
}

fn works(sessions: &mut Sessions, now: Time) {
    let mut record = Record::new();
    let message = |topic: &str, expires_at| {
        let mut message = Message::from_parts(topic, &[], b"payload").expect("short parts");
        message.expires_at = expires_at;
        Arc::new(message)
    };
    let receiver = |delivery| Receiver {
        client: "phone".into(),
        delivery,
        qos: 1,
        retain: false,
        shared: 0,
        ids: Box::default(),
    };
    let keep = Keep {
        message: message("a", None),
        receivers: vec![receiver(1_000), receiver(1_001)],
        origin: None,
        publisher: None,
    };
    let changes = vec![
        Change::Retain { number: 10, owner: Some("ann".into()), message: message("state", Some(now)) },
        Change::Retain { number: 11, owner: None, message: message("other", Some(now.after(500))) },
        Change::Keep(Box::new(keep)),
        Change::Done { client: "phone".into(), deliveries: vec![1_000, 3] },
        Change::Released { client: "old".into(), packet_id: 65_535 },
        Change::End { client: "old".into(), incarnation: None },
    ];
    record.begin(0);
    let command = Command::Batch(changes);
    let bytes_max = StateMachine::record_bytes_max(sessions, &command);
    sessions.execute(0, now, 1, &command, &mut record).expect("a batch is taken");
    assert!(record.events().len() <= bytes_max, "a batch writes more than it announced");
    for part in [Part::Sessions, Part::Retained] {
        sessions
            .read(now, &Command::Page { part, from: 0, entries_max: 100 })
            .expect("a page is never refused");
    }
    sessions.read(now, &Command::Figures).expect("figures are never refused");
}

/// Applies `data` to an empty machine, or to one that holds something: its first byte chooses.
pub fn session_events(data: &[u8]) -> bool {
    let Some((&which, events)) = data.split_first() else { return false };
    let mut sessions = if which & 1 == 0 { empty() } else { some_sessions() };
    SESSIONS.events(&mut sessions, 1_000, NOW.after(1), events)
}

/// Reads `data` as a chunk of a checkpoint whose other chunks are whole.
pub fn session_checkpoint(data: &[u8]) -> bool {
    SESSIONS.checkpoint(SESSIONS.saved(&mut some_sessions()), NOW, data)
}
