//! Live state is checkpoint and replay: a machine that took a checkpoint back and replayed the records behind it holds what the
//! machine holds that wrote them, and both go on alike.
//!
//! Retained messages end here in bursts, at one time, over several turns with few events each.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use stadium_session::{
    Answer, Bounds, Change, Command, Connect, Keep, Message, Origin, Part, Place, Presence, Receiver,
    RetainedImage, SessionImage, Sessions, Time,
};
use stadium_state_machine::{Checkpointed as _, Executed, Lookup, MachineState as _, Record, StateMachine};

const PLACE: Place = Place { shard: 0, shards: 1, hash_seed: 7 };

const NARROW: Bounds = Bounds {
    sessions_max: 1_000,
    deliveries_max: 10_000,
    message_bytes_max: 1 << 20,
    retained_max: 100_000,
    retained_bytes_max: 1 << 20,
    origins_max: 2,
};

type Chunks = Vec<Vec<u8>>;
type Records = Vec<(Time, Vec<u8>)>;

/// A machine, its last whole checkpoint, and the records behind that.
struct Journalled {
    machine: Sessions,
    checkpoint: Chunks,
    tail: Records,
    /// A checkpoint that is being taken, and the records since it began.
    begun: Option<(Chunks, Records)>,
}

impl Journalled {
    /// The bounds are of no account to a replay, which has wide ones.
    fn new() -> Self {
        let machine = Sessions::new(PLACE, NARROW);
        let mut one = Self { machine, checkpoint: Vec::new(), tail: Vec::new(), begun: None };
        one.checkpoint_begin();
        while one.checkpoint_next(4_096) {}
        one
    }

    fn wrote(&mut self, now: Time, record: &Record) {
        let entry = (now, record.events().to_vec());
        if let Some((_, since)) = &mut self.begun {
            since.push(entry.clone());
        }
        self.tail.push(entry);
    }

    fn batch(&mut self, now: Time, changes: Vec<Change>) {
        let mut record = Record::new();
        record.begin(0);
        let answer = self.machine.execute(0, now, 0, &Command::Batch(changes), &mut record);
        assert!(matches!(answer, Ok(Executed::Done(Answer::Batch(_)))));
        self.wrote(now, &record);
    }

    fn tick(&mut self, now: Time, events_max: u32) -> bool {
        let mut record = Record::new();
        record.begin(0);
        let more = self.machine.tick(0, now, 0, &mut record, events_max);
        assert!(record.events().len() <= self.machine.tick_bytes_max(events_max));
        self.wrote(now, &record);
        more
    }

    fn checkpoint_begin(&mut self) {
        self.machine.checkpoint_begin();
        self.begun = Some((Vec::new(), Vec::new()));
    }

    fn checkpoint_next(&mut self, bytes_max: usize) -> bool {
        let Some((chunks, _)) = &mut self.begun else { return false };
        let mut chunk = Vec::new();
        let more = self.machine.checkpoint_next(&mut chunk, bytes_max);
        chunks.push(chunk);
        if !more && let Some((chunks, since)) = self.begun.take() {
            (self.checkpoint, self.tail) = (chunks, since);
        }
        more
    }

    /// A machine that starts from the last whole checkpoint.
    fn restarted(&self) -> Sessions {
        self.restarted_with(Bounds::default())
    }

    fn restarted_with(&self, bounds: Bounds) -> Sessions {
        let mut machine = Sessions::new(PLACE, bounds);
        for chunk in &self.checkpoint {
            machine.restore(chunk).expect("the machine has written it");
        }
        machine.restore_finish().expect("all of it is there");
        for (at, (time, events)) in self.tail.iter().enumerate() {
            if let Err(error) = machine.apply(at as u64, *time, 0, events) {
                panic!("record {at} behind the checkpoint: {error:?}");
            }
        }
        machine
    }
}

/// All that a machine holds, in an order that does not depend on places.
#[derive(Debug, PartialEq)]
struct Everything {
    sessions: BTreeMap<String, SessionImage>,
    retained: BTreeMap<String, RetainedImage>,
    figures: stadium_session::Figures,
    deadline: Option<Time>,
}

fn everything(machine: &mut Sessions) -> Everything {
    let mut page = |part| match machine.read(Time(0), &Command::Page { part, from: 0, entries_max: u32::MAX })
    {
        Ok(Lookup::Answer(Answer::Page(page))) => page,
        other => panic!("{other:?}"),
    };
    let sessions = page(Part::Sessions).sessions.into_iter();
    let retained = page(Part::Retained).retained.into_iter();
    Everything {
        sessions: sessions.map(|one| (one.connect.client.to_string(), one)).collect(),
        retained: retained.map(|one| (one.message.topic().to_owned(), one)).collect(),
        figures: machine.figures(),
        deadline: machine.next_deadline(),
    }
}

fn message(topic: &str, payload: &str, expires_at: Option<Time>) -> Arc<Message> {
    let mut message = Message::from_parts(topic, b"", payload.as_bytes()).expect("short parts");
    (message.qos, message.expires_at) = (1, expires_at);
    Arc::new(message)
}

/// Refreshes topics; each gets a number of its own.
fn retain(numbers: &mut u64, topics: impl IntoIterator<Item = u32>, expires_at: Time) -> Vec<Change> {
    let one = |topic: u32| {
        *numbers += 1;
        Change::Retain {
            number: *numbers,
            owner: None,
            message: message(&format!("score/{topic}"), "x", Some(expires_at)),
        }
    };
    topics.into_iter().map(one).collect()
}

fn topics(machine: &mut Sessions) -> BTreeSet<u32> {
    everything(machine).retained.keys().map(|topic| topic[6..].parse().expect("it is a number")).collect()
}

#[test]
fn a_burst_of_retained_messages_ends_alike_behind_a_checkpoint() {
    let (mut one, mut numbers) = (Journalled::new(), 0);
    one.batch(Time(1_000_000), retain(&mut numbers, 0..3_000, Time(1_060_000)));
    // They end over several turns; a checkpoint begins while 2,048 of them are gone.
    assert!(one.tick(Time(1_060_000), 1_024));
    assert!(one.tick(Time(1_060_000), 1_024));
    one.checkpoint_begin();
    while one.checkpoint_next(64 << 10) {}
    while one.tick(Time(1_060_000), 1_024) {}
    // A second burst lands in other places live than behind the restored checkpoint.
    one.batch(Time(1_070_000), retain(&mut numbers, 0..3_000, Time(1_130_000)));
    assert!(one.tick(Time(1_130_000), 1_024));
    let live = topics(&mut one.machine);
    assert_eq!(topics(&mut one.restarted()), live);
    // A publisher refreshes a part of those that are gone, and the rest ends.
    let gone = (0..3_000).filter(|topic| !live.contains(topic)).step_by(3);
    one.batch(Time(1_130_000), retain(&mut numbers, gone, Time(1_190_000)));
    while one.tick(Time(1_130_000), 1_024) {}
    assert_eq!(everything(&mut one.restarted()), everything(&mut one.machine));
    assert_eq!(one.machine.figures().retained, 342);
}

/// The event that servers wrote before numbers were named.
fn over(until: Time, count: u64) -> Vec<u8> {
    let mut events = vec![0];
    stadium_state_machine::encoding::number(&mut events, until.0);
    stadium_state_machine::encoding::number(&mut events, count);
    events
}

#[test]
fn an_event_of_before_removes_what_was_over_and_never_refuses() {
    let (mut one, mut numbers) = (Journalled::new(), 0);
    one.batch(Time(1), retain(&mut numbers, 0..4, Time(50)));
    one.batch(Time(1), retain(&mut numbers, 4..8, Time(60)));
    one.batch(Time(1), retain(&mut numbers, 8..10, Time(90)));
    let after = |until, count| {
        let mut machine = one.restarted();
        machine.apply(0, Time(100), 0, &over(Time(until), count)).expect("it is read for ever");
        topics(&mut machine)
    };
    assert_eq!(after(60, 3), (3..10).collect(), "the earliest, and of these the lowest places");
    assert_eq!(after(60, 6), (6..10).collect());
    assert_eq!(after(60, 8), (8..10).collect());
    assert_eq!(after(60, 1_000), (8..10).collect(), "fewer than it counts were over");
    assert_eq!(after(10, 5), (0..10).collect(), "nothing was over");
}

#[test]
fn a_number_that_is_not_there_is_skipped() {
    let (mut one, mut numbers) = (Journalled::new(), 0);
    one.batch(Time(1), retain(&mut numbers, 0..3, Time(50)));
    let mut events = vec![14];
    for value in [50, 3, 900, 2, 7] {
        stadium_state_machine::encoding::number(&mut events, value);
    }
    let mut machine = one.restarted();
    machine.apply(0, Time(60), 0, &events).expect("a number may be gone");
    assert_eq!(topics(&mut machine), [0, 2].into());
}

/// What happens to the machine.
#[derive(Debug, Clone)]
enum Step {
    Batch(Vec<Kind>),
    Retain { from: u32, topics: u32, expiry: u64 },
    Remove { from: u32, topics: u32 },
    Tick { events_max: u32 },
    Wait(u64),
    Checkpoint,
    Restart,
}

/// A change of a session.
#[derive(Debug, Clone)]
enum Kind {
    Connect(u8, u64),
    Disconnect(u8),
    End(u8),
    Keep { receivers: Vec<(u8, u32)>, origin: Option<(u64, u16)>, publisher: Option<u8> },
    Received(u8, u32),
    Done(u8, Vec<u32>),
    Released(u8, u16),
    Forget(u64, u16),
}

fn name(client: u8) -> String {
    format!("client-{client}")
}

impl Kind {
    fn change(self) -> Change {
        match self {
            Kind::Connect(client, incarnation) => Change::Connect(Box::new(Connect {
                client: name(client).into(),
                incarnation,
                version: 5,
                expiry_s: 60,
                identity: Bytes::new(),
                will: None,
            })),
            Kind::Disconnect(client) => Change::Disconnect {
                client: name(client).into(),
                presence: Presence::Away { ends_at: Some(Time(9)), will_at: None, sent_below: 3 },
            },
            Kind::End(client) => Change::End { client: name(client).into(), incarnation: None },
            Kind::Keep { receivers, origin, publisher } => Change::Keep(Box::new(Keep {
                message: message("t", "x", None),
                receivers: receivers.into_iter().map(receiver).collect(),
                publisher: publisher.filter(|_| origin.is_some()).map(|client| name(client).into()),
                origin: origin.map(|(incarnation, packet_id)| Origin { incarnation, packet_id }),
            })),
            Kind::Received(client, delivery) => Change::Received { client: name(client).into(), delivery },
            Kind::Done(client, deliveries) => Change::Done { client: name(client).into(), deliveries },
            Kind::Released(client, packet_id) => Change::Released { client: name(client).into(), packet_id },
            Kind::Forget(incarnation, packet_id) => {
                Change::Forget { origin: Origin { incarnation, packet_id } }
            }
        }
    }
}

fn receiver((client, delivery): (u8, u32)) -> Receiver {
    Receiver { client: name(client).into(), delivery, qos: 2, retain: false, shared: 0, ids: Box::default() }
}

fn kind() -> impl Strategy<Value = Kind> {
    let client = || 0..5_u8;
    let receivers = || proptest::collection::vec((client(), 1..30_u32), 0..4);
    prop_oneof![
        3 => (client(), 0..3_u64).prop_map(|(client, incarnation)| Kind::Connect(client, incarnation)),
        1 => client().prop_map(Kind::Disconnect),
        1 => client().prop_map(Kind::End),
        6 => (
            receivers(),
            proptest::option::of((0..3_u64, 0..4_u16)),
            proptest::option::of(client()),
        )
            .prop_map(|(receivers, origin, publisher)| Kind::Keep { receivers, origin, publisher }),
        2 => (client(), 1..30_u32).prop_map(|(client, delivery)| Kind::Received(client, delivery)),
        3 => (client(), proptest::collection::vec(1..30_u32, 1..4))
            .prop_map(|(client, deliveries)| Kind::Done(client, deliveries)),
        1 => (client(), 0..4_u16).prop_map(|(client, packet_id)| Kind::Released(client, packet_id)),
        1 => (0..3_u64, 0..4_u16).prop_map(|(incarnation, packet_id)| Kind::Forget(incarnation, packet_id)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => proptest::collection::vec(kind(), 1..6).prop_map(Step::Batch),
        // Bursts that end at few times, so that many end together.
        4 => (0..600_u32, 1..900_u32, 1..3_u64)
            .prop_map(|(from, topics, expiry)| Step::Retain { from, topics, expiry: expiry * 100 }),
        1 => (0..600_u32, 1..200_u32).prop_map(|(from, topics)| Step::Remove { from, topics }),
        6 => (1..600_u32).prop_map(|events_max| Step::Tick { events_max }),
        3 => prop_oneof![3 => Just(100_u64), 1 => Just(60_000)].prop_map(Step::Wait),
        2 => Just(Step::Checkpoint),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn live_state_is_checkpoint_and_replay(
        steps in proptest::collection::vec(step(), 1..80),
        slice in prop_oneof![200..4_000_usize, Just(1 << 20)],
        slices_a_step in 1..12_usize,
    ) {
        let (mut one, mut numbers, mut now) = (Journalled::new(), 0, Time(1_000));
        for step in steps {
            match step {
                Step::Batch(kinds) => one.batch(now, kinds.into_iter().map(Kind::change).collect()),
                Step::Retain { from, topics, expiry } => {
                    one.batch(now, retain(&mut numbers, from..from + topics, now.after(expiry)));
                }
                Step::Remove { from, topics } => {
                    let none = |topic: u32| {
                        numbers += 1;
                        Change::Retain { number: numbers, owner: None, message: message(&format!("score/{topic}"), "", None) }
                    };
                    one.batch(now, (from..from + topics).map(none).collect());
                }
                Step::Tick { events_max } => {
                    one.tick(now, events_max);
                }
                Step::Wait(ms) => now = now.after(ms),
                Step::Checkpoint => one.checkpoint_begin(),
                Step::Restart => {
                    let mut restarted = one.restarted();
                    prop_assert_eq!(everything(&mut restarted), everything(&mut one.machine));
                    // It goes on from there: the checkpoint that was being taken is given up.
                    one.machine = one.restarted_with(NARROW);
                    one.begun = None;
                }
            }
            // A checkpoint goes on while the machine changes.
            let _ = (0..slices_a_step).take_while(|_| one.checkpoint_next(slice)).count();
        }
        let mut restarted = one.restarted_with(NARROW);
        prop_assert_eq!(everything(&mut restarted), everything(&mut one.machine));
        // Both know the same publishes, and their receivers.
        let keep = |incarnation, packet_id| {
            let receivers = (0..5).map(|client| (client, 99)).collect();
            Kind::Keep { receivers, origin: Some((incarnation, packet_id)), publisher: None }.change()
        };
        let all = (0..3).flat_map(|incarnation| (0..4).map(move |packet_id| keep(incarnation, packet_id)));
        let probe = Command::Batch(all.collect());
        let [live, replayed] = [&mut one.machine, &mut restarted].map(|machine| {
            let mut record = Record::new();
            record.begin(0);
            machine.execute(0, now, 0, &probe, &mut record)
        });
        prop_assert_eq!(live, replayed);
    }
}
