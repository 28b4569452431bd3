//! Fuzz bodies: any bytes as events of the push platform, and as a chunk of its checkpoint. Input that is
//! taken must leave a platform that works and can be saved; all other input is refused. Nothing panics.
//!
//! Ordinary functions, so that the stable test `fuzz` of crates/push runs them as well.

use std::sync::LazyLock;

use stadium_push::{
    AppName, Arrival, Audience, Bounds, Command, ConnectionName, Content, DeviceId, NewPush, Options,
    Platform, PushId, Time, When,
};
use stadium_registry::{Changes, Selector};
use stadium_state_machine::encoding::Reader;
use stadium_state_machine::{MachineState as _, Place, Record, StateMachine};

use crate::state_machine::Subject;

pub const PLATFORM: Subject<Platform> = Subject { empty, works };

fn empty() -> Platform {
    let bounds = Bounds { pushes_max: 20, names_max: 8, ..Bounds::default() };
    Platform::new(Place { shard: 0, shards: 2, hash_seed: 1 }, bounds)
}

/// A record of the fixture: position, time, events.
pub type FixtureRecord = (u64, Time, Vec<u8>);

/// The records of a shard with every event and option, as the fixture of version 2 has them.
pub static RECORDS: LazyLock<Vec<FixtureRecord>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../crates/push/tests/fixtures/v2/shard-0-records");
    let mut input = Reader::new(bytes);
    let mut records = Vec::new();
    while !input.is_empty() {
        let mut number = || input.number().expect("the fixture is whole");
        let (at, time, length) = (number(), Time(number()), number());
        let events = input.take(length as usize).expect("the fixture is whole");
        records.push((at, time, events.to_vec()));
    }
    records
});

/// A platform after so many of the fixture's records, and the time of the last.
fn after(records: usize) -> (Platform, Time) {
    let mut platform = empty();
    let mut now = RECORDS[0].1;
    for (at, time, events) in &RECORDS[..records] {
        platform.apply(*at, *time, 0, events).expect("version 2 is read");
        now = *time;
    }
    (platform, now)
}

fn works(platform: &mut Platform, now: Time) {
    let app = || AppName::new("default").expect("a name");
    let device = |name: &str| DeviceId::new(name).expect("an id");
    let push = |id: u64, audience| NewPush {
        app: app(),
        id: PushId(u128::from(id) << 64 | u128::from(now.0)),
        audience,
        content: Content::Raw { payload: "x".into(), content_type: None, properties: Vec::new() },
        options: Options::default(),
        when: When::Now,
    };
    let connection = ConnectionName { connection: now.0, ..ConnectionName::default() };
    let commands = [
        Command::Change { app: app(), devices: vec![(device("phone-1"), Changes::default())] },
        Command::Presence {
            arrived: vec![Arrival { app: app(), device: device("phone-1"), connection, at: now }],
            left: Vec::new(),
        },
        Command::Send { push: Box::new(push(1, Audience::Selector(Selector::All))) },
        Command::Send { push: Box::new(push(2, Audience::Device(device("phone-1")))) },
        Command::Devices { app: app(), audience: None, prefix: String::new(), after: None, devices_max: 100 },
        Command::Device { app: app(), device: device("phone-1") },
        Command::Pushes { app: app(), before: None, pushes_max: 100 },
        Command::Schedules { app: app() },
        Command::Remove { app: app(), devices: vec![device("phone-1")] },
    ];
    let mut record = Record::new();
    let mut to_transport = Vec::new();
    for command in &commands {
        record.begin(0);
        let bytes_max = StateMachine::record_bytes_max(platform, command);
        // A refusal is an answer: the bounds are small, and the input may have dropped the app.
        let _ = platform.execute(0, now, 1, command, &mut record);
        assert!(record.events().len() <= bytes_max, "{command:?} writes more than it announced");
        platform.take_transport_commands(&mut to_transport);
    }
}

/// Applies `data` behind some of the fixture's records: its first byte is their number.
pub fn push_events(data: &[u8]) -> bool {
    let Some((&records, events)) = data.split_first() else { return false };
    let (mut platform, now) = after(usize::from(records) % (RECORDS.len() + 1));
    PLATFORM.events(&mut platform, 1_000_000, now.after(1), events)
}

/// A checkpoint behind all of the fixture's records.
pub fn saved() -> Vec<Vec<u8>> {
    PLATFORM.saved(&mut after(RECORDS.len()).0)
}

/// Reads `data` as a chunk of a checkpoint whose other chunks are whole.
pub fn push_checkpoint(data: &[u8]) -> bool {
    static SAVED: LazyLock<Vec<Vec<u8>>> = LazyLock::new(saved);
    let now = RECORDS.last().expect("the fixture has records").1;
    PLATFORM.checkpoint(SAVED.clone(), now, data)
}
