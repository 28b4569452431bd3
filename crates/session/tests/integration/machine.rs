//! The machine by itself: its memory, the result of a replay, and the content of a checkpoint that
//! was taken while it changed.
//!
//! Random batches of a few clients and topics drive it; its pages are what is compared.

use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use stadium_session::{
    Answer, Bounds, Change, Command, Connect, Keep, Message, Origin, Outcome, Part, Place, Presence,
    Receiver, RetainedImage, SessionImage, Sessions, Subscription, Time, Will, Withdraw,
};
use stadium_state_machine::{Checkpointed as _, Executed, Lookup, MachineState as _, Record, StateMachine};

const PLACE: Place = Place { shard: 0, shards: 1, hash_seed: 7 };

/// A machine with the records that it has written.
struct Journalled {
    machine: Sessions,
    records: Vec<(Time, Vec<u8>)>,
}

impl Journalled {
    fn new() -> Self {
        Self::with(Bounds::default())
    }

    fn with(bounds: Bounds) -> Self {
        Self { machine: Sessions::new(PLACE, bounds), records: Vec::new() }
    }

    fn batch(&mut self, now: Time, changes: Vec<Change>) -> Vec<Outcome> {
        let mut record = Record::new();
        record.begin(0);
        let at = self.records.len() as u64;
        let command = Command::Batch(changes);
        let bytes_max = self.machine.record_bytes_max(&command);
        let answer = self.machine.execute(at, now, 0, &command, &mut record);
        assert!(record.events().len() <= bytes_max, "room for {bytes_max} bytes was asked");
        self.records.push((now, record.events().to_vec()));
        match answer {
            Ok(Executed::Done(Answer::Batch(outcomes))) => outcomes,
            other => panic!("{other:?}"),
        }
    }

    fn tick(&mut self, now: Time) {
        let mut record = Record::new();
        record.begin(0);
        while self.machine.tick(self.records.len() as u64, now, 0, &mut record, 1) {}
        assert!(record.events().len() <= self.machine.tick_bytes_max(1) * 8);
        self.records.push((now, record.events().to_vec()));
    }

    fn replayed(&self) -> Sessions {
        let mut machine = Sessions::new(PLACE, Bounds::default());
        for (at, (time, events)) in self.records.iter().enumerate() {
            machine.apply(at as u64, *time, 0, events).expect("the machine has written it");
        }
        machine
    }
}

type Everything = (Vec<SessionImage>, Vec<RetainedImage>);

fn everything(machine: &mut Sessions) -> Everything {
    let mut all = (Vec::new(), Vec::new());
    for part in [Part::Sessions, Part::Retained] {
        let mut from = 0;
        loop {
            let command = Command::Page { part, from, entries_max: 2 };
            let Ok(Lookup::Answer(Answer::Page(page))) = machine.read(Time(0), &command) else {
                panic!("pages are read")
            };
            all.0.extend(page.sessions);
            all.1.extend(page.retained);
            match page.next {
                Some(next) => from = next,
                None => break,
            }
        }
    }
    all
}

fn message(topic: &str, payload: &str) -> Arc<Message> {
    let mut message = Message::from_parts(topic, b"", payload.as_bytes()).expect("short parts");
    message.qos = 1;
    Arc::new(message)
}

fn connect(client: &str, incarnation: u64) -> Change {
    Change::Connect(Box::new(Connect {
        client: client.into(),
        incarnation,
        version: 5,
        expiry_s: 600,
        identity: Bytes::from_static(b"me"),
        will: Some(Will { id: 8, message: message("gone", client), delay_s: 5, expiry_s: None }),
    }))
}

fn receiver(client: &str, delivery: u32) -> Receiver {
    Receiver { client: client.into(), delivery, qos: 1, retain: false, shared: 0, ids: [3].into() }
}

fn keep(payload: &str, receivers: Vec<Receiver>) -> Change {
    let message = message("t", payload);
    Change::Keep(Box::new(Keep { message, receivers, origin: None, publisher: None }))
}

fn owed(machine: &mut Sessions, client: &str) -> Vec<(u32, Option<String>)> {
    let all = everything(machine).0;
    let one = all.into_iter().find(|session| session.connect.client == client).expect("it has a session");
    let text = |message: Arc<Message>| String::from_utf8_lossy(message.payload()).into_owned();
    one.owed.into_iter().map(|owed| (owed.delivery, owed.message.map(text))).collect()
}

#[test]
fn a_session_is_owed_deliveries_in_their_order_until_it_is_done_with_them() {
    let mut one = Journalled::new();
    one.batch(Time(1), vec![connect("a", 1), connect("b", 2)]);
    one.batch(
        Time(2),
        vec![keep("x", vec![receiver("a", 1), receiver("b", 1)]), keep("y", vec![receiver("a", 2)])],
    );
    let figures = one.machine.figures();
    assert_eq!(
        (figures.deliveries, figures.message_bytes),
        (3, 4),
        "a message is held once, however many are owed it"
    );
    one.batch(Time(3), vec![Change::Received { client: "a".into(), delivery: 1 }]);
    assert_eq!(owed(&mut one.machine, "a"), [(1, None), (2, Some("y".into()))]);
    one.batch(Time(3), vec![Change::Done { client: "a".into(), deliveries: vec![1] }]);
    assert_eq!(owed(&mut one.machine, "a"), [(2, Some("y".into()))]);
    assert_eq!(owed(&mut one.machine, "b"), [(1, Some("x".into()))]);
    one.batch(Time(4), vec![Change::End { client: "b".into(), incarnation: None }]);
    assert_eq!(one.machine.figures().message_bytes, 2, "nobody is owed x any more");
    assert_eq!(everything(&mut one.replayed()), everything(&mut one.machine));
}

#[test]
fn a_new_incarnation_ends_the_session_before_it() {
    let mut one = Journalled::new();
    one.batch(Time(1), vec![connect("a", 1), keep("x", vec![receiver("a", 1)])]);
    one.batch(Time(2), vec![connect("a", 1)]);
    assert_eq!(owed(&mut one.machine, "a").len(), 1, "the same one goes on");
    one.batch(Time(3), vec![connect("a", 9)]);
    assert_eq!(owed(&mut one.machine, "a"), []);
    assert_eq!(one.machine.figures().message_bytes, 0);
}

#[test]
fn a_publish_at_qos_2_is_taken_once() {
    let origin = Origin { incarnation: 5, packet_id: 77 };
    for publisher in [None, Some("p".into())] {
        let mut one = Journalled::new();
        one.batch(Time(1), vec![connect("a", 1), connect("p", 5)]);
        let publish = |delivery| {
            let receivers = vec![receiver("a", delivery)];
            let publisher = publisher.clone();
            Change::Keep(Box::new(Keep {
                message: message("t", "x"),
                receivers,
                origin: Some(origin),
                publisher,
            }))
        };
        assert_eq!(one.batch(Time(2), vec![publish(1)]), [Outcome::Done]);
        let mut again = Journalled { machine: one.replayed(), records: Vec::new() };
        assert_eq!(again.batch(Time(3), vec![publish(2)]), [Outcome::Known]);
        assert_eq!(owed(&mut again.machine, "a").len(), 1);
        // Released, the packet id may be used for another message.
        again.batch(Time(4), vec![Change::Released { client: "p".into(), packet_id: 77 }]);
        assert_eq!(again.batch(Time(5), vec![publish(3)]), [Outcome::Done]);
    }
}

const ORIGIN: Origin = Origin { incarnation: 5, packet_id: 77 };

/// The publish [`ORIGIN`] for these receivers.
fn publish(receivers: &[(&str, u32)]) -> Change {
    let receivers = receivers.iter().map(|&(client, delivery)| receiver(client, delivery)).collect();
    let message = message("t", "x");
    Change::Keep(Box::new(Keep { message, receivers, origin: Some(ORIGIN), publisher: None }))
}

fn three_clients() -> Journalled {
    let mut one = Journalled::new();
    one.batch(Time(1), vec![connect("a", 1), connect("b", 2), connect("c", 3)]);
    one
}

#[test]
fn parts_of_a_publish_are_taken_once_for_each_receiver_however_they_are_cut() {
    let mut one = three_clients();
    // Two loops have receivers here.
    let outcomes = one.batch(Time(2), vec![publish(&[("a", 1)]), publish(&[("b", 1)])]);
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done], "the second part is no repeat of the first");
    // After a restart one loop has them all, and finds another one.
    let mut again = Journalled { machine: one.replayed(), records: Vec::new() };
    let outcomes = again.batch(Time(3), vec![publish(&[("a", 2), ("c", 1), ("b", 2)])]);
    assert_eq!(outcomes, [Outcome::Partly([0, 2].into())]);
    assert_eq!(again.batch(Time(3), vec![publish(&[("c", 2), ("b", 3)])]), [Outcome::Known]);
    for (client, delivery) in [("a", 1), ("b", 1), ("c", 1)] {
        assert_eq!(owed(&mut again.machine, client), [(delivery, Some("x".into()))]);
    }
    // A delivery that was delivered meanwhile is not owed again, a session of another life is.
    again.batch(Time(4), vec![Change::Done { client: "a".into(), deliveries: vec![1] }, connect("b", 9)]);
    let outcomes = again.batch(Time(5), vec![publish(&[("a", 3), ("b", 4)])]);
    assert_eq!(outcomes, [Outcome::Partly([0].into())]);
    assert_eq!(again.batch(Time(6), vec![Change::Forget { origin: ORIGIN }]), [Outcome::Done]);
    assert_eq!(again.batch(Time(7), vec![publish(&[("a", 5)])]), [Outcome::Done]);
}

#[test]
fn a_repeated_publish_is_not_refused_where_some_were_owed_it_and_there_is_no_room_for_others() {
    let mut one = Journalled::with(Bounds { deliveries_max: 3, ..Bounds::default() });
    one.batch(Time(1), vec![connect("a", 1), connect("b", 2)]);
    assert_eq!(one.batch(Time(2), vec![publish(&[("a", 1)])]), [Outcome::Done]);
    one.batch(Time(3), vec![keep("y", vec![receiver("a", 2)]), keep("z", vec![receiver("a", 3)])]);
    assert_eq!(one.batch(Time(4), vec![publish(&[("b", 1), ("a", 4)])]), [Outcome::PartlyFull([1].into())]);
    assert_eq!(owed(&mut one.machine, "b"), []);
    one.batch(Time(5), vec![Change::Done { client: "a".into(), deliveries: vec![2] }]);
    assert_eq!(one.batch(Time(6), vec![publish(&[("b", 1), ("a", 4)])]), [Outcome::Partly([1].into())]);
    assert_eq!(owed(&mut one.machine, "b"), [(1, Some("x".into()))]);
}

/// A loop's part as servers wrote it that had a key for each loop.
/// A part of a publish that is taken back.
fn withdraw(receivers: &[(&str, u32)], publisher: Option<&str>) -> Change {
    let receivers = receivers.iter().map(|&(client, delivery)| (client.into(), delivery)).collect();
    let publisher = publisher.map(Into::into);
    Change::Withdraw(Box::new(Withdraw { receivers, origin: Some(ORIGIN), publisher }))
}

#[test]
fn a_part_that_is_taken_back_leaves_the_other_parts_of_its_publish_known() {
    let mut one = three_clients();
    one.batch(Time(2), vec![publish(&[("a", 1)]), publish(&[("b", 1)])]);
    assert_eq!(one.batch(Time(3), vec![withdraw(&[("b", 1)], None)]), [Outcome::Done]);
    for mut machine in [one.replayed(), one.machine] {
        assert_eq!(owed(&mut machine, "a").len(), 1);
        assert!(owed(&mut machine, "b").is_empty());
        // The server is killed before the other part is taken back: sent again, it goes to every
        // receiver that is not owed it.
        let mut again = Journalled { machine, records: Vec::new() };
        let outcomes = again.batch(Time(4), vec![publish(&[("a", 2), ("b", 2)])]);
        assert_eq!(outcomes, [Outcome::Partly([0].into())]);
        assert_eq!(owed(&mut again.machine, "b").len(), 1);
    }
}

#[test]
fn a_publish_of_which_all_is_taken_back_is_another_one_when_it_is_repeated() {
    let mut one = three_clients();
    let ask = || vec![Change::Ask { origin: ORIGIN }];
    assert_eq!(one.batch(Time(2), ask()), [Outcome::Done]);
    one.batch(Time(2), vec![publish(&[("a", 1), ("b", 1)])]);
    assert_eq!(one.batch(Time(3), ask()), [Outcome::Known]);
    one.batch(Time(3), vec![withdraw(&[("a", 1), ("b", 1)], None)]);
    assert_eq!(one.batch(Time(4), ask()), [Outcome::Done]);
    assert_eq!(one.batch(Time(4), vec![publish(&[("a", 2)])]), [Outcome::Done]);
}

#[test]
fn copies_by_shared_subscriptions_are_each_taken_once() {
    let shared = |client: &str, delivery, shared| {
        let receivers = vec![Receiver { shared, ..receiver(client, delivery) }];
        match publish(&[]) {
            Change::Keep(keep) => Change::Keep(Box::new(Keep { receivers, ..*keep })),
            other => other,
        }
    };
    let mut one = three_clients();
    // A session's own copy, and those of two groups of which it is a member: they come from different loops.
    let copies = || vec![publish(&[("a", 1)]), shared("a", 2, 1), shared("a", 3, 2)];
    assert_eq!(one.batch(Time(2), copies()), [const { Outcome::Done }; 3]);
    assert_eq!(one.batch(Time(3), copies()), [const { Outcome::Known }; 3]);
    assert_eq!(owed(&mut one.machine, "a").len(), 3);
}

fn part_of_before(part: u64, receivers: &[(&str, u32)]) -> Vec<u8> {
    let Change::Keep(mut keep) = publish(receivers) else { unreachable!() };
    let incarnation = ORIGIN.incarnation ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    keep.origin = Some(Origin { incarnation, ..ORIGIN });
    let mut other = three_clients();
    other.batch(Time(2), vec![Change::Keep(keep)]);
    let mut events = other.records.pop().expect("it was written").1;
    assert_eq!(std::mem::replace(&mut events[0], 7), 15);
    events
}

#[test]
fn publishes_that_servers_of_before_remembered_by_loop_are_known_and_forgotten() {
    let mut one = three_clients();
    for (part, receiver) in [(0, ("a", 1)), (3, ("b", 1))] {
        let events = part_of_before(part, &[receiver]);
        one.machine.apply(1, Time(2), 0, &events).expect("it is read for ever");
        one.records.push((Time(2), events));
    }
    assert_eq!(one.batch(Time(3), vec![publish(&[("b", 2), ("c", 1)])]), [Outcome::Partly([0].into())]);
    assert_eq!(one.batch(Time(3), vec![publish(&[("a", 2)])]), [Outcome::Known]);
    assert_eq!(everything(&mut one.replayed()), everything(&mut one.machine));
    one.batch(Time(4), vec![Change::Forget { origin: ORIGIN }]);
    assert_eq!(one.batch(Time(5), vec![publish(&[("a", 3), ("b", 3)])]), [Outcome::Done]);
    assert_eq!(owed(&mut one.replayed(), "b").len(), 2);
}

#[test]
fn the_publish_that_is_forgotten_for_one_more_is_named() {
    let mut one = Journalled::with(Bounds { origins_max: 1, ..Bounds::default() });
    one.batch(Time(1), vec![connect("a", 1)]);
    one.batch(Time(2), vec![publish(&[("a", 1)])]);
    let Change::Keep(mut next) = publish(&[("a", 2)]) else { unreachable!() };
    next.origin = Some(Origin { packet_id: 78, ..ORIGIN });
    one.batch(Time(3), vec![Change::Keep(next)]);
    // A replay has other bounds, and remembers no more than the machine that wrote.
    let mut again = Journalled { machine: one.replayed(), records: Vec::new() };
    assert_eq!(again.batch(Time(4), vec![publish(&[("a", 3)])]), [Outcome::Done]);
}

#[test]
fn receivers_of_publishes_that_are_not_released_are_bounded() {
    let mut one = Journalled::with(Bounds { deliveries_max: 3, ..Bounds::default() });
    one.batch(Time(1), vec![connect("a", 1), connect("b", 2), connect("c", 3)]);
    let publish = |packet_id, clients: &[&str]| {
        let receivers = clients.iter().map(|client| receiver(client, u32::from(packet_id))).collect();
        let origin = Some(Origin { incarnation: 5, packet_id });
        Change::Keep(Box::new(Keep { message: message("t", "x"), receivers, origin, publisher: None }))
    };
    let done = |packet_id: u16| {
        ["a", "b", "c"]
            .map(|client| Change::Done { client: client.into(), deliveries: vec![packet_id.into()] })
    };
    assert_eq!(
        one.batch(Time(2), vec![publish(1, &["a"]), publish(2, &["a"])]),
        [Outcome::Done, Outcome::Done]
    );
    one.batch(Time(3), [done(1), done(2)].concat());
    // Nothing is owed any more. Both are forgotten for one with three receivers.
    assert_eq!(one.batch(Time(4), vec![publish(3, &["a", "b", "c"])]), [Outcome::Done]);
    one.batch(Time(5), done(3).to_vec());
    assert_eq!(one.batch(Time(6), vec![publish(1, &["a"])]), [Outcome::Done], "the first is not known");
    let mut again = Journalled { machine: one.replayed(), records: Vec::new() };
    assert_eq!(again.batch(Time(7), vec![publish(3, &["b"])]), [Outcome::Done], "it went for the first");
    assert_eq!(again.batch(Time(7), vec![publish(1, &["a"])]), [Outcome::Known]);
}

#[test]
fn a_will_and_a_session_end_only_if_they_are_those_that_were_meant() {
    let mut one = Journalled::new();
    one.batch(Time(1), vec![connect("a", 1)]);
    let ends = |incarnation| Change::End { client: "a".into(), incarnation: Some(incarnation) };
    let gone = |will| Change::WillGone { client: "a".into(), will };
    one.batch(Time(2), vec![gone(7), ends(2)]);
    assert!(one.records[1].1.is_empty(), "the will has the id 8, the session the incarnation 1");
    one.batch(Time(3), vec![gone(8)]);
    assert_eq!(everything(&mut one.replayed()).0[0].connect.will, None);
    one.batch(Time(4), vec![ends(1)]);
    assert!(everything(&mut one.replayed()).0.is_empty());
}

#[test]
fn clearing_topics_without_a_message_leaves_nothing_behind() {
    let mut one = Journalled::new();
    let clear = |number, topic: &str| Change::ClearNothing { number, message: message(topic, "") };
    let outcomes = one.batch(Time(1), (0..1_000).map(|number| clear(number, &number.to_string())).collect());
    assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Done));
    assert!(one.records[0].1.is_empty(), "nothing is written");
    assert_eq!(everything(&mut one.machine).1, []);
    assert_eq!(one.machine.next_deadline(), None);
    // One that is kept here goes all the same, and does not come back by a change that it overtook.
    let retain =
        |number, payload: &str| Change::Retain { number, owner: None, message: message("t", payload) };
    one.batch(Time(2), vec![retain(1_001, "kept"), clear(1_003, "t"), retain(1_002, "overtaken")]);
    assert_eq!((one.machine.figures().retained, one.machine.figures().retained_bytes), (0, 0));
    assert_eq!(everything(&mut one.replayed()), everything(&mut one.machine));
}

#[test]
fn a_retained_message_keeps_its_owner_and_its_time() {
    let mut one = Journalled::new();
    let retain = |number, topic: &str, owner: Option<&str>, payload| {
        let owner = owner.map(Into::into);
        Change::Retain { number, owner, message: message(topic, payload) }
    };
    let kept = |machine: &mut Sessions| {
        let mut kept: Vec<_> = (everything(machine).1.into_iter())
            .map(|one| (one.message.topic().to_owned(), one.owner.map(String::from), one.set_at))
            .collect();
        kept.sort();
        kept
    };
    let (anna, nobody) = (Some("anna".to_owned()), Some(String::new()));
    one.batch(
        Time(1),
        vec![
            retain(1, "a", Some("anna"), "x"),
            retain(2, "b", Some("bert"), "x"),
            retain(3, "n", Some(""), "x"),
            retain(4, "s", None, "x"),
        ],
    );
    // Replaced messages are those of the new owner, and of its time.
    one.batch(Time(7), vec![retain(5, "b", Some("anna"), "y"), retain(6, "s", None, "y")]);
    let expected = [
        ("a".to_owned(), anna.clone(), Some(Time(1))),
        ("b".to_owned(), anna, Some(Time(7))),
        ("n".to_owned(), nobody, Some(Time(1))),
        ("s".to_owned(), None, Some(Time(7))),
    ];
    assert_eq!(kept(&mut one.machine), expected);
    assert_eq!(kept(&mut one.replayed()), expected);
}

#[test]
fn removals_take_no_room_from_retained_messages() {
    let mut one = Journalled::with(Bounds { retained_max: 2, retained_bytes_max: 4, ..Bounds::default() });
    let retain = |number, topic: &str, payload| Change::Retain {
        number,
        owner: None,
        message: message(topic, payload),
    };
    for round in 0..10 {
        let number = round * 10;
        let (a, b, c) = (format!("a{round}"), format!("b{round}"), format!("c{round}"));
        let outcomes = one.batch(
            Time(1),
            vec![retain(number, &a, ""), retain(number + 1, &b, ""), retain(number + 2, &c, "")],
        );
        assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::Done]);
    }
    let outcomes = one.batch(
        Time(2),
        vec![retain(200, "a", "x"), retain(201, "b", "x"), retain(202, "c", "x"), retain(203, "a0", "x")],
    );
    assert_eq!(outcomes, [Outcome::Done, Outcome::Done, Outcome::Full, Outcome::Full]);
    assert_eq!(one.machine.figures().retained, 2);
}

#[test]
fn removals_are_remembered_in_a_bounded_number() {
    const REMOVED_MAX: u64 = 65_536;
    let mut one = Journalled::new();
    let clear =
        |number: u64| Change::Retain { number, owner: None, message: message(&format!("t{number}"), "") };
    one.batch(Time(1), (1..=REMOVED_MAX + 100).map(clear).collect());
    assert!(one.machine.next_deadline().is_some_and(|at| at <= Time(1)));
    let mut record = Record::new();
    record.begin(0);
    assert!(one.machine.tick(1, Time(1), 0, &mut record, 64), "a turn forgets as many as it may");
    assert!(record.events().len() <= one.machine.tick_bytes_max(64));
    assert!(!one.machine.tick(1, Time(1), 0, &mut record, 64));
    one.records.push((Time(1), record.events().to_vec()));
    // The oldest are forgotten, on replay as well; the others keep what they overtook out.
    let late = |number: u64| Change::Retain {
        number: 0,
        owner: None,
        message: message(&format!("t{number}"), "late"),
    };
    for machine in [&mut one.replayed(), &mut one.machine] {
        let kept = everything(machine).1;
        assert_eq!(kept.len() as u64, REMOVED_MAX);
        assert_eq!(kept.iter().map(|one| one.number).min(), Some(101));
        assert_eq!(machine.next_deadline(), Some(Time(60_001)));
    }
    one.batch(Time(2), vec![late(100), late(101)]);
    assert_eq!(one.machine.figures().retained, 1);
}

#[test]
fn the_last_retained_message_of_a_topic_counts_whatever_arrives_last() {
    let mut one = Journalled::new();
    let retain =
        |number, payload: &str| Change::Retain { number, owner: None, message: message("t", payload) };
    one.batch(Time(1), vec![retain(3, "third"), retain(2, "second")]);
    assert_eq!(everything(&mut one.machine).1[0].message.payload(), b"third");
    // Removed, and the one that was put there before comes behind.
    one.batch(Time(2), vec![retain(5, ""), retain(4, "fourth")]);
    assert!(everything(&mut one.machine).1[0].message.payload().is_empty());
    let ends = one.machine.next_deadline().expect("that it was removed is remembered for a while");
    one.tick(ends);
    assert!(everything(&mut one.machine).1.is_empty());
    assert_eq!(one.machine.figures().retained_bytes, 0);
    assert!(everything(&mut one.replayed()).1.is_empty());
}

#[test]
fn bounds_refuse_what_would_pass_them_and_nothing_else() {
    let bounds = Bounds { sessions_max: 1, deliveries_max: 1, retained_max: 1, ..Bounds::default() };
    let mut one = Journalled::with(bounds);
    let retain = |topic| Change::Retain { number: 1, owner: None, message: message(topic, "r") };
    let outcomes = one.batch(
        Time(1),
        vec![
            connect("a", 1),
            connect("b", 2),
            keep("x", vec![receiver("a", 1)]),
            keep("y", vec![receiver("a", 2)]),
            retain("one"),
            retain("two"),
            Change::Done { client: "a".into(), deliveries: vec![1] },
            keep("z", vec![receiver("a", 3)]),
        ],
    );
    use Outcome::{Done, Full};
    assert_eq!(outcomes, [Done, Full, Done, Full, Done, Full, Done, Done]);
    assert_eq!(owed(&mut one.machine, "a"), [(3, Some("z".into()))]);
}

#[test]
fn a_change_of_a_session_that_ended_means_nothing() {
    let mut one = Journalled::new();
    let done = Change::Done { client: "a".into(), deliveries: vec![1] };
    assert_eq!(
        one.batch(Time(1), vec![done, keep("x", vec![receiver("a", 1)])]),
        [Outcome::Done, Outcome::Done]
    );
    assert!(one.records[0].1.is_empty(), "nothing was written");
}

#[test]
fn damaged_events_and_chunks_are_refused() {
    let mut one = Journalled::new();
    one.batch(Time(1), vec![connect("a", 1), keep("payload", vec![receiver("a", 1)])]);
    let events = &one.records[0].1;
    for cut in 1..events.len() {
        let mut fresh = Sessions::new(PLACE, Bounds::default());
        let whole = fresh.apply(0, Time(1), 0, &events[..cut]).is_ok();
        // Cut between two events, what is left is whole.
        assert!(!whole || fresh.figures().sessions == 1, "{cut} bytes");
    }
    let mut unknown = events.clone();
    unknown[0] = 99;
    assert!(Sessions::new(PLACE, Bounds::default()).apply(0, Time(1), 0, &unknown).is_err());
    let mut unfinished = Sessions::new(PLACE, Bounds::default());
    assert!(unfinished.restore(&[]).is_err());
    assert!(unfinished.restore_finish().is_err());
}

fn client() -> impl Strategy<Value = String> {
    (0..4_u8).prop_map(|number| format!("client-{number}"))
}

fn change() -> impl Strategy<Value = Change> {
    let presence = prop_oneof![
        Just(Presence::Here),
        (0..900_u64, 0..9_u32).prop_map(|(at, sent_below)| Presence::Away {
            ends_at: Some(Time(at)),
            will_at: None,
            sent_below
        }),
    ];
    let origin = (0..2_u64, 0..3_u16).prop_map(|(incarnation, packet_id)| Origin { incarnation, packet_id });
    prop_oneof![
        2 => (client(), 0..3_u64).prop_map(|(client, incarnation)| connect(&client, incarnation)),
        1 => (client(), presence).prop_map(|(client, presence)| Change::Disconnect { client: client.into(), presence }),
        1 => client().prop_map(|client| Change::WillGone { client: client.into(), will: 8 }),
        1 => client().prop_map(|client| Change::End { client: client.into(), incarnation: None }),
        2 => (client(), 0..3_u8, any::<bool>()).prop_map(|(client, filter, id)| Change::Subscribe {
            client: client.into(),
            subscription: Subscription {
                filter: format!("f/{filter}").into(),
                options: 1,
                id: id.then_some(4),
                shared: 0,
            },
        }),
        1 => (client(), 0..3_u8).prop_map(|(client, filter)| Change::Unsubscribe {
            client: client.into(),
            filter: format!("f/{filter}").into(),
        }),
        6 => (
            proptest::collection::vec((client(), 1..20_u32), 0..4),
            proptest::option::of(origin.clone()),
            proptest::option::of(client()),
            0..40_usize,
        )
            .prop_map(|(receivers, origin, publisher, bytes)| Change::Keep(Box::new(Keep {
                message: message("t", &"x".repeat(bytes)),
                receivers: receivers.iter().map(|(client, delivery)| receiver(client, *delivery)).collect(),
                publisher: publisher.filter(|_| origin.is_some()).map(Into::into),
                origin,
            }))),
        2 => (client(), 1..20_u32).prop_map(|(client, delivery)| Change::Received { client: client.into(), delivery }),
        4 => (client(), proptest::collection::vec(1..20_u32, 1..4))
            .prop_map(|(client, deliveries)| Change::Done { client: client.into(), deliveries }),
        1 => (client(), 0..3_u16).prop_map(|(client, packet_id)| Change::Unreleased { client: client.into(), packet_id }),
        1 => (client(), 0..3_u16).prop_map(|(client, packet_id)| Change::Released { client: client.into(), packet_id }),
        1 => origin.prop_map(|origin| Change::Forget { origin }),
        2 => (0..4_u8, 0..9_u64, 0..3_usize, proptest::option::of(0..900_u64), proptest::option::of("a?")).prop_map(
            |(topic, number, bytes, ends, owner)| {
                let mut message = message(&format!("r/{topic}"), &"y".repeat(bytes));
                Arc::make_mut(&mut message).expires_at = ends.map(Time);
                Change::Retain { number, owner: owner.map(Into::into), message }
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Replay gives the same state, and a checkpoint holds what was there when it began, whatever happens while it is taken.
    #[test]
    fn replay_and_checkpoints_give_the_same_state(
        batches in proptest::collection::vec(proptest::collection::vec(change(), 1..6), 1..24),
        begins_at in 0..24_usize,
        slice in 1..200_usize,
    ) {
        let mut one = Journalled::new();
        let mut chunks: Vec<Vec<u8>> = Vec::new();
        let mut saved: Option<Everything> = None;
        let mut more = false;
        for (turn, batch) in batches.into_iter().enumerate() {
            let now = Time(turn as u64 * 50);
            if turn == begins_at {
                one.machine.checkpoint_begin();
                saved = Some(everything(&mut one.machine));
                more = true;
            }
            if more {
                let mut chunk = Vec::new();
                more = one.machine.checkpoint_next(&mut chunk, slice);
                chunks.push(chunk);
            }
            one.batch(now, batch);
            if turn % 3 == 0 {
                one.tick(now);
            }
        }
        while more {
            let mut chunk = Vec::new();
            more = one.machine.checkpoint_next(&mut chunk, slice);
            chunks.push(chunk);
        }
        let now = everything(&mut one.machine);
        let mut replayed = one.replayed();
        prop_assert_eq!(everything(&mut replayed), now);
        prop_assert_eq!(replayed.figures(), one.machine.figures());
        if let Some(saved) = saved {
            let mut restored = Sessions::new(PLACE, Bounds::default());
            for chunk in &chunks {
                restored.restore(chunk).expect("the machine has written it");
            }
            restored.restore_finish().expect("all of it is there");
            prop_assert_eq!(everything(&mut restored), saved);
        }
    }
}
