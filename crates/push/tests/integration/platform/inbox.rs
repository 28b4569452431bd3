//! The pushes that a device is owed, when it gets them, and how they end.
//!
//! Each rule is one scene, whose end checks that a replay and a restore show the same.

use stadium_push::{
    Answer, AppSettings, Cap, CollapseKey, Command, Happened, NewPush, Options, Pace, QuietHours, Stage,
    State, When,
};
use stadium_registry::Changes;
use stadium_state_machine::MachineState;

use crate::platform::scene::{HOUR, NOON, Scene, app, device, push_id, to_all, to_one, to_tag};

fn with(push: NewPush, options: Options) -> NewPush {
    NewPush { options, ..push }
}

#[test]
fn a_push_goes_out_is_acknowledged_and_never_goes_out_again() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b"]);
    scene.connect("a");
    scene.send(to_one(1, "a")).unwrap();
    scene.send(to_all(2)).unwrap();
    assert_eq!(scene.inbox("a"), [1, 2]);
    assert_eq!(scene.acknowledge_all(), 2);
    assert!(scene.inbox("a").is_empty());
    for _ in 0..2 {
        scene.disconnect("a");
        scene.connect("a");
        assert_eq!(scene.take_sent(), []);
        scene.restart();
    }
    scene.connect("b");
    assert_eq!(scene.payloads(), ["2"]);
    let counts = scene.counts(2);
    assert_eq!((counts.targeted, counts.delivered, counts.in_flight, counts.owed), (2, 1, 1, 0));
    assert_eq!(scene.view(1).stage, Stage::Settled);
    assert_eq!(scene.view(2).stage, Stage::Sending);
    scene.check();
}

#[test]
fn an_unacknowledged_push_is_owed_when_the_device_comes_back() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    scene.connect("a");
    scene.send(to_one(1, "a")).unwrap();
    scene.send(to_all(2)).unwrap();
    scene.answer_all(Happened::Sent);
    assert_eq!(scene.counts(2).in_flight, 1);
    scene.disconnect("a");
    assert_eq!(scene.counts(2).owed, 1);
    scene.connect("a");
    assert_eq!(scene.payloads(), ["1", "2"]);
    scene.restart();
    scene.connect("a");
    assert_eq!(scene.acknowledge_all(), 2);
    scene.check();
}

#[test]
fn an_acknowledgement_that_comes_twice_or_late_counts_once() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    scene.connect("a");
    scene.send(to_all(1)).unwrap();
    let sent = scene.sent.clone();
    scene.answer_all(Happened::Sent);
    scene.disconnect("a");
    // Late: the connection is gone, and the device has it all the same.
    scene.sent = sent.clone();
    scene.answer_all(Happened::Acknowledged);
    scene.sent = sent;
    scene.answer_all(Happened::Acknowledged);
    let view = scene.view(1);
    assert_eq!((view.counts.delivered, view.acknowledged.count), (1, 1));
    scene.connect("a");
    assert_eq!(scene.take_sent(), []);
    scene.check();
}

#[test]
fn the_inbox_comes_by_priority_then_in_order_of_acceptance() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    for (id, priority) in [(1, 4), (2, 9), (3, 4), (4, 0), (5, 9)] {
        let options = Options { priority, ..Options::default() };
        let push = if id % 2 == 0 { to_all(id) } else { to_one(id, "a") };
        scene.send(with(push, options)).unwrap();
    }
    assert_eq!(scene.inbox("a"), [2, 5, 1, 3, 4]);
    scene.connect("a");
    assert_eq!(scene.payloads(), ["2", "5", "1", "3", "4"]);
    scene.check();
}

#[test]
fn a_full_inbox_lets_the_oldest_of_the_lowest_priority_go() {
    let mut scene = Scene::new(1);
    scene.settings(AppSettings { inbox_max: 3, ..AppSettings::default() });
    scene.register(&["a", "b"]);
    let with = |push, priority| with(push, Options { priority, ..Options::default() });
    for (id, priority) in [(1, 5), (2, 3), (3, 3)] {
        scene.send(with(to_all(id), priority)).unwrap();
    }
    scene.send(with(to_one(4, "a"), 4)).unwrap();
    assert_eq!(scene.inbox("a"), [1, 4, 3]);
    assert_eq!(scene.inbox("b"), [1, 2, 3]);
    scene.send(with(to_all(5), 9)).unwrap();
    assert_eq!(scene.inbox("a"), [5, 1, 4]);
    assert_eq!(scene.inbox("b"), [5, 1, 3]);
    // Nothing is lower than what comes: it goes itself.
    scene.send(with(to_one(6, "a"), 0)).unwrap();
    assert_eq!(scene.inbox("a"), [5, 1, 4]);
    assert_eq!(scene.trace(6, "a").state, State::CrowdedOut);
    assert_eq!(scene.trace(2, "a").state, State::CrowdedOut);
    assert_eq!(scene.counts(2).crowded_out, 2);
    assert_eq!(scene.counts(3).crowded_out, 1);
    scene.check();
}

#[test]
fn a_newer_push_takes_the_place_of_older_ones_with_its_key() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b"]);
    scene.tag("a", "vip");
    let key = |key: &str| Options { collapse: Some(CollapseKey::new(key).unwrap()), ..Options::default() };
    scene.send(with(to_all(1), key("score"))).unwrap();
    scene.send(with(to_one(2, "a"), key("score"))).unwrap();
    scene.send(with(to_one(3, "b"), key("other"))).unwrap();
    assert_eq!((scene.inbox("a"), scene.inbox("b")), (vec![2], vec![1, 3]));
    scene.connect("b");
    scene.acknowledge_all();
    scene.send(with(to_tag(4, "vip"), key("score"))).unwrap();
    scene.send(with(to_all(5), key("score"))).unwrap();
    assert_eq!((scene.inbox("a"), scene.inbox("b")), (vec![5], vec![5]));
    let counts = scene.counts(1);
    assert_eq!((counts.collapsed, counts.delivered), (1, 1), "what is delivered stays so");
    assert_eq!(scene.trace(2, "a").state, State::Collapsed);
    scene.check();
}

#[test]
fn an_expired_push_reaches_nobody_any_more() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b"]);
    scene.connect("b");
    let options = Options { expiry: Some(HOUR), ..Options::default() };
    scene.send(with(to_all(1), options.clone())).unwrap();
    scene.send(with(to_one(2, "a"), options)).unwrap();
    scene.acknowledge_all();
    scene.run_until(NOON.after(HOUR + 1_000));
    scene.connect("a");
    assert_eq!(scene.take_sent(), []);
    let counts = scene.counts(1);
    assert_eq!((counts.expired, counts.delivered), (1, 1));
    assert_eq!(scene.view(1).stage, Stage::Settled);
    assert_eq!(scene.trace(2, "a").state, State::Expired);
    scene.check();
    // And is forgotten in time.
    scene.wait(7 * 24 * HOUR);
    assert_eq!(scene.ask(Command::Push { app: app(), push: push_id(1) }), Ok(Answer::Push(None)));
    scene.check();
}

#[test]
fn at_most_once_goes_to_those_who_are_there() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b", "c"]);
    scene.connect("a");
    scene.connect("c");
    let options = Options { qos: 0, ..Options::default() };
    scene.send(with(to_all(1), options.clone())).unwrap();
    scene.send(with(to_one(2, "b"), options.clone())).unwrap();
    scene.send(with(to_one(3, "a"), options)).unwrap();
    let counts = scene.counts(1);
    assert_eq!((counts.targeted, counts.expired, counts.in_flight), (3, 1, 2));
    scene.disconnect("c");
    scene.answer_all(Happened::Sent);
    scene.connect("b");
    scene.connect("c");
    assert_eq!(scene.take_sent(), []);
    scene.wait(61_000);
    let counts = scene.counts(1);
    assert_eq!((counts.delivered, counts.expired), (1, 2));
    assert_eq!(scene.trace(2, "b").state, State::Expired);
    assert_eq!(scene.trace(3, "a").state, State::Delivered);
    scene.check();
}

#[test]
fn a_cancelled_push_reaches_nobody_any_more() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b"]);
    scene.connect("a");
    scene.send(to_all(1)).unwrap();
    scene.acknowledge_all();
    let later = NewPush { when: When::At(NOON.after(HOUR)), ..to_one(2, "b") };
    scene.send(later).unwrap();
    for id in [1, 2] {
        scene.ask(Command::Cancel { app: app(), push: push_id(id) }).unwrap();
        let again = scene.ask(Command::Cancel { app: app(), push: push_id(id) }).unwrap_err();
        assert_eq!(again.code(), "PSH-027");
        assert_eq!(scene.view(id).stage, Stage::Cancelled);
    }
    scene.wait(2 * HOUR);
    scene.connect("b");
    assert_eq!(scene.take_sent(), []);
    let counts = scene.counts(1);
    assert_eq!((counts.delivered, counts.cancelled), (1, 1));
    let unknown = scene.ask(Command::Cancel { app: app(), push: push_id(9) }).unwrap_err();
    assert_eq!(unknown.code(), "PSH-021");
    scene.check();
}

#[test]
fn one_that_was_cancelled_before_its_time_never_started_and_was_for_nobody() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    let at = When::At(NOON.after(HOUR));
    scene.send(NewPush { when: at, ..to_one(1, "a") }).unwrap();
    scene.send(NewPush { when: at, ..to_all(2) }).unwrap();
    scene.send(to_one(3, "a")).unwrap();
    scene.wait(1_000);
    for (id, cancelled) in [(1, 0), (2, 0), (3, 1)] {
        scene.ask(Command::Cancel { app: app(), push: push_id(id) }).unwrap();
        let view = scene.view(id);
        assert_eq!(view.stage, Stage::Cancelled);
        assert_eq!(view.started_at.is_some(), id == 3, "{id}");
        assert_eq!((view.counts.cancelled, view.counts.targeted), (cancelled, cancelled));
        let deliveries =
            Command::Deliveries { app: app(), push: push_id(id), after: None, deliveries_max: 10 };
        let Answer::Deliveries(deliveries) = scene.ask(deliveries).unwrap() else { panic!() };
        assert_eq!(deliveries.len() as u64, cancelled, "{deliveries:?}");
        assert_eq!(scene.trace(id, "a").state, State::Cancelled);
    }
    scene.check();
}

#[test]
fn a_removed_device_takes_what_it_is_owed_with_it_and_leaves_its_slot_clean() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b"]);
    scene.connect("a");
    scene.send(to_all(1)).unwrap();
    scene.send(to_one(2, "a")).unwrap();
    scene.ask(Command::Remove { app: app(), devices: vec![device("a")] }).unwrap();
    assert_eq!(scene.cut, ["a"]);
    assert_eq!(scene.counts(1).cancelled, 1);
    scene.sent.clear();
    scene.wait(2_000);
    scene.register(&["c"]);
    scene.connect("c");
    assert_eq!(scene.take_sent(), []);
    assert!(scene.inbox("c").is_empty());
    assert_eq!(scene.trace(1, "c").state, State::NotRegistered);
    scene.check();
}

#[test]
fn a_revoked_device_is_cut_and_gets_nothing() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    scene.connect("a");
    scene.change("a", Changes { revoked: Some(true), ..Changes::default() });
    assert_eq!(scene.cut, ["a"]);
    scene.send(to_one(1, "a")).unwrap();
    scene.send(to_all(2)).unwrap();
    scene.connect("a");
    assert_eq!(scene.cut, ["a", "a"]);
    assert_eq!(scene.take_sent(), []);
    assert_eq!(scene.trace(1, "a").state, State::Revoked);
    assert_eq!(scene.trace(2, "a").state, State::Revoked);
    scene.check();
}

#[test]
fn a_connection_that_takes_nothing_is_left_alone_for_a_while() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    scene.connect("a");
    scene.send(to_all(1)).unwrap();
    let sent = scene.sent.remove(0).1;
    let connection = sent.connection(&sent.to[0]);
    let step = stadium_push::Step {
        push: sent.push,
        slot: sent.to[0].slot,
        connection,
        what: Happened::Returned,
        at: scene.now,
    };
    scene.ask_shard(0, &Command::Progress { steps: vec![step] }).unwrap();
    assert_eq!(scene.counts(1).owed, 1);
    scene.wait(4_000);
    assert_eq!(scene.take_sent(), []);
    scene.wait(2_000);
    assert_eq!(scene.payloads(), ["1"]);
    scene.check();
}

#[test]
fn a_long_inbox_goes_out_in_windows_and_whole() {
    let mut scene = Scene::new(1);
    scene.settings(AppSettings { inbox_max: 1_000, ..AppSettings::default() });
    scene.register(&["a"]);
    for id in 0..200 {
        let push = if id % 2 == 0 { to_one(id, "a") } else { to_all(id) };
        scene.send(push).unwrap();
    }
    scene.connect("a");
    assert_eq!(scene.sent.len(), 64);
    let mut seen = Vec::new();
    while !scene.sent.is_empty() {
        let sent = scene.sent.clone();
        seen.extend(scene.payloads());
        scene.sent = sent;
        scene.answer_all(Happened::Acknowledged);
    }
    assert_eq!(seen, (0..200).map(|id| id.to_string()).collect::<Vec<_>>());
    scene.check();
}

#[test]
fn a_paced_push_goes_out_in_slices() {
    let mut scene = Scene::new(1);
    let names: Vec<String> = (0..100).map(|n| format!("d{n}")).collect();
    for name in &names {
        scene.register(&[name]);
        scene.connect(name);
    }
    let options = Options { pace: Pace::PerSecond(20), ..Options::default() };
    scene.send(with(to_all(1), options)).unwrap();
    let mut in_second = Vec::new();
    for _ in 0..6 {
        scene.wait(1_000);
        in_second.push(scene.take_sent().len());
    }
    assert!(in_second[..4].iter().all(|sent| (18..=22).contains(sent)), "{in_second:?}");
    assert_eq!(in_second.iter().sum::<usize>(), 100);
    let options = Options { pace: Pace::Over(10_000), ..Options::default() };
    scene.send(with(to_all(2), options)).unwrap();
    scene.wait(5_000);
    let half = scene.take_sent().len();
    assert!((45..=55).contains(&half), "{half} of 100 in half of the time");
    scene.wait(6_000);
    assert_eq!(half + scene.take_sent().len(), 100);
    scene.check();
}

#[test]
fn devices_that_had_their_fill_are_left_out() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b"]);
    let cap = Some(Cap { pushes: 2, within: HOUR });
    let options = || Options { cap, ..Options::default() };
    scene.send(with(to_all(1), options())).unwrap();
    scene.send(with(to_one(2, "a"), options())).unwrap();
    scene.send(with(to_all(3), options())).unwrap();
    scene.send(with(to_one(4, "a"), options())).unwrap();
    assert_eq!((scene.inbox("a"), scene.inbox("b")), (vec![1, 2], vec![1, 3]));
    assert_eq!(scene.counts(3).capped, 1);
    assert_eq!(scene.trace(4, "a").state, State::Capped);
    scene.wait(HOUR + 1);
    scene.send(with(to_one(5, "a"), options())).unwrap();
    assert_eq!(scene.inbox("a"), [1, 2, 5]);
    scene.check();
}

#[test]
fn nothing_is_left_to_do_when_quiet_hours_end_that_nobody_waits_for() {
    let mut scene = Scene::new(1);
    // Given pushes to a device in its quiet hours, until 13:00.
    let quiet = stadium_registry::QuietHours::new(11 * 60, 13 * 60);
    scene.change("a", Changes { quiet_hours: Some(quiet), ..Changes::default() });
    let release = NOON.after(HOUR);
    for id in [1, 2] {
        let options = Options { quiet_hours: QuietHours::Wait, ..Options::default() };
        scene.send(NewPush { options, ..to_all(id) }).unwrap();
        assert_eq!(scene.counts(id).waiting, 1);
    }
    assert_eq!(MachineState::next_deadline(&scene.shards[0]), Some(release));
    // When all that waits has ended, by a cancellation and by the end of the device,
    scene.ask(Command::Cancel { app: app(), push: push_id(1) }).unwrap();
    scene.ask(Command::Remove { app: app(), devices: vec![device("a")] }).unwrap();
    // Then the machine does not wait for that hour, and neither does one from its checkpoint.
    assert!(MachineState::next_deadline(&scene.shards[0]).is_none_or(|deadline| deadline > release));
    scene.check();
}

#[test]
fn quiet_hours_are_waited_for_left_out_or_ignored() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b"]);
    let quiet = stadium_registry::QuietHours::new(11 * 60, 13 * 60);
    scene.change("a", Changes { quiet_hours: Some(quiet), ..Changes::default() });
    scene.connect("a");
    for (id, quiet_hours) in [(1, QuietHours::Wait), (2, QuietHours::Skip), (3, QuietHours::Ignore)] {
        let options = Options { quiet_hours, ..Options::default() };
        scene.send(with(to_all(id), options.clone())).unwrap();
        scene.send(with(to_one(id + 10, "a"), options)).unwrap();
    }
    assert_eq!(scene.payloads(), ["3", "13"]);
    assert_eq!(scene.counts(1).waiting, 1);
    assert_eq!(scene.counts(2).quiet, 1);
    assert_eq!(scene.trace(11, "a").state, State::Waiting(NOON.after(HOUR)));
    scene.disconnect("a");
    scene.connect("a");
    assert_eq!(scene.payloads(), ["3", "13"], "what waits is not sent on return");
    scene.wait(HOUR - 1);
    assert_eq!(scene.take_sent(), []);
    scene.wait(1_000);
    assert_eq!(scene.payloads(), ["1", "11"]);
    assert_eq!(scene.counts(1).waiting, 0);
    scene.check();
}
