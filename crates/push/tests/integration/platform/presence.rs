//! Devices come and go, in any order in which the edge reports it, and deliveries on their way to
//! them when they do.
//!
//! Each rule is one scene, whose end checks that a replay and a restore show the same.

use stadium_push::{AppSettings, Command, Happened, NewPush, Options, Pace, Stage, State, Step};

use crate::platform::scene::{Scene, app, device, to_all, to_one};

#[test]
fn a_device_that_came_and_went_in_one_batch_is_not_connected() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b"]);
    scene.present(&[("a", 1), ("b", 2)], &[("a", 1)]);
    assert_eq!((scene.connection("a"), scene.connection("b")), (None, Some(2)));
    scene.send(to_all(1)).unwrap();
    assert_eq!(scene.take_sent(), [("b".into(), "1".into())]);
    // It ends its subscription and begins it again: the last word is that it reads.
    scene.present(&[("b", 2)], &[("b", 2)]);
    assert_eq!(scene.connection("b"), Some(2));
    // And once more, and away: twice gone, once come back.
    scene.present(&[("b", 2)], &[("b", 2), ("b", 2)]);
    assert_eq!(scene.connection("b"), None);
    // One connection takes the other's place within a turn.
    scene.present(&[("a", 3), ("a", 4)], &[("a", 3)]);
    assert_eq!(scene.connection("a"), Some(4));
    scene.present(&[], &[("a", 4)]);
    scene.check();
}

#[test]
fn a_device_that_is_new_and_gone_within_a_batch_is_registered() {
    let mut scene = Scene::new(1);
    scene.present(&[("new", 1)], &[("new", 1)]);
    assert_eq!(scene.connection("new"), None);
    scene.check();
}

#[test]
fn a_repeated_arrival_sends_nothing_again() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    scene.present(&[("a", 1)], &[]);
    scene.send(to_all(1)).unwrap();
    scene.send(to_one(2, "a")).unwrap();
    assert_eq!(scene.payloads(), ["1", "2"]);
    scene.present(&[("a", 1)], &[]);
    assert_eq!(scene.take_sent(), []);
    assert_eq!((scene.counts(1).in_flight, scene.counts(2).in_flight), (1, 1));
    // Another connection has nothing in flight.
    scene.present(&[("a", 2)], &[]);
    assert_eq!(scene.payloads(), ["1", "2"]);
    scene.present(&[], &[("a", 2)]);
    scene.check();
}

fn at_most_once(push: NewPush) -> NewPush {
    NewPush { options: Options { qos: 0, ..Options::default() }, ..push }
}

#[test]
fn at_most_once_ends_with_the_connection() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b", "c"]);
    scene.present(&[("a", 1), ("b", 2), ("c", 3)], &[]);
    scene.send(at_most_once(to_all(1))).unwrap();
    scene.send(at_most_once(to_one(2, "a"))).unwrap();
    // It leaves.
    scene.present(&[], &[("a", 1)]);
    let counts = scene.counts(1);
    assert_eq!((counts.expired, counts.in_flight, counts.owed), (1, 2, 0));
    assert_eq!(scene.trace(2, "a").state, State::Expired);
    assert_eq!(scene.view(2).stage, Stage::Settled);
    // It is given back.
    let dispatch = scene.sent[0].1.clone();
    let to = *dispatch.to.iter().find(|to| to.connection == 2).unwrap();
    let connection = dispatch.connection(&to);
    let step =
        Step { push: dispatch.push, slot: to.slot, connection, what: Happened::Returned, at: scene.now };
    scene.ask_shard(0, &Command::Progress { steps: vec![step, step] }).unwrap();
    assert_eq!(scene.trace(1, "b").state, State::Expired);
    assert_eq!((scene.counts(1).expired, scene.counts(1).in_flight), (2, 1));
    // The shard starts anew.
    scene.restart();
    scene.wait(0);
    let view = scene.view(1);
    assert_eq!((view.counts.expired, view.counts.owed, view.stage), (3, 0, Stage::Settled));
    scene.present(&[("a", 4), ("b", 5), ("c", 6)], &[]);
    scene.wait(10_000);
    assert_eq!(scene.take_sent(), []);
    scene.present(&[], &[("a", 4), ("b", 5), ("c", 6)]);
    scene.check();
}

#[test]
fn at_most_once_is_over_when_a_connection_takes_no_more() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    scene.present(&[("a", 1)], &[]);
    (0..64).for_each(|id| drop(scene.send(to_all(id)).unwrap()));
    assert_eq!(scene.take_sent().len(), 64);
    scene.send(at_most_once(to_all(70))).unwrap();
    scene.send(at_most_once(to_one(71, "a"))).unwrap();
    scene.wait(0);
    assert_eq!((scene.counts(70).expired, scene.counts(71).expired), (1, 1));
    scene.present(&[], &[("a", 1)]);
    scene.check();
}

#[test]
fn at_most_once_expires_at_its_time() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b", "c"]);
    scene.present(&[("a", 1), ("b", 2), ("c", 3)], &[]);
    let pace = Pace::PerSecond(1);
    let options = Options { qos: 0, expiry: Some(500), pace, ..Options::default() };
    scene.send(NewPush { options, ..to_all(1) }).unwrap();
    scene.wait(600);
    let counts = scene.counts(1);
    assert_eq!((counts.owed, counts.expired), (0, 3));
    assert_eq!(scene.take_sent().len(), 1);
    scene.present(&[], &[("a", 1), ("b", 2), ("c", 3)]);
    scene.check();
}

#[test]
fn many_that_leave_at_once_lose_all_that_goes_at_most_once() {
    let mut scene = Scene::new(1);
    let names: Vec<String> = (0..40).map(|number| format!("d{number}")).collect();
    let all: Vec<(&str, u64)> = names.iter().map(String::as_str).zip(1..).collect();
    scene.present(&all, &[]);
    (0..20).for_each(|id| drop(scene.send(at_most_once(to_all(id))).unwrap()));
    assert_eq!(scene.take_sent().len(), 800);
    scene.present(&[], &all);
    scene.wait(0);
    for id in 0..20 {
        assert_eq!((scene.counts(id).expired, scene.counts(id).owed), (40, 0));
    }
    scene.check();
}

#[test]
fn a_device_registered_after_it_connected_is_reached_at_once() {
    let mut scene = Scene::new(1);
    scene.settings(AppSettings { register_at_connect: false, ..AppSettings::default() });
    scene.present(&[("a", 1), ("b", 2), ("c", 3)], &[]);
    scene.present(&[], &[("b", 2)]);
    // A newer connection takes the place of one that is still reported as connected.
    scene.present(&[("c", 4)], &[]);
    scene.present(&[("d", 5)], &[("c", 3), ("d", 5)]);
    scene.register(&["a", "b", "c", "d"]);
    let connections = ["a", "b", "c", "d"].map(|name| scene.connection(name));
    assert_eq!(connections, [Some(1), None, Some(4), None]);
    scene.send(to_all(1)).unwrap();
    assert_eq!(scene.take_sent().len(), 2);
    scene.present(&[], &[("a", 1)]);
    assert_eq!(scene.connection("a"), None);
    // A connection ends with its device: the same name registered anew has none.
    scene.ask(Command::Remove { app: app(), devices: vec![device("c")] }).unwrap();
    scene.register(&["c"]);
    assert_eq!(scene.connection("c"), None);
    scene.check();
}
