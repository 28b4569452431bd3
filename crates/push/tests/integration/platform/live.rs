//! Live pushes: to devices that are connected, with no record and no second try.

use stadium_push::live::{LiveReach, LiveToken};
use stadium_push::{
    Answer, Audience, Command, Content, NewPush, Notification, Options, Pace, QuietHours, When, Words,
};
use stadium_registry::{AttributeName, Changes, Value};

use crate::platform::scene::{NOON, Scene, device, push, to_all, to_one, to_tag};

fn live(scene: &mut Scene, push: NewPush) -> LiveReach {
    let command = Command::SendLive { push: Box::new(push), token: LiveToken(5) };
    match scene.ask(command).expect("it is sent") {
        Answer::Live(reach) => *reach,
        other => panic!("{other:?}"),
    }
}

fn refused(scene: &mut Scene, push: NewPush) -> &'static str {
    let command = Command::SendLive { push: Box::new(push), token: LiveToken(5) };
    scene.ask(command).expect_err("it is refused").code()
}

#[test]
fn connected_devices_that_match_get_it_and_nothing_is_written() {
    let mut scene = Scene::new(2);
    for number in 0..20 {
        let name = format!("d{number}");
        scene.change(&name, Changes { opt_in: Some(number != 4), ..Changes::default() });
        if number % 2 == 0 {
            scene.tag(&name, "even");
        }
        if number < 10 {
            scene.connect(&name);
        }
    }
    let written: Vec<usize> = scene.records.iter().map(Vec::len).collect();
    let reach = live(&mut scene, to_tag(1, "even"));
    let expected = LiveReach {
        devices: 20,
        matched: 10,
        opted_out: 1,
        targeted: 9,
        connected: 4,
        ..LiveReach::default()
    };
    assert_eq!(reach, expected);
    let sent: usize = scene.live.iter().map(|dispatch| dispatch.to.len()).sum();
    assert_eq!(sent, 4);
    assert!(scene.live.iter().all(|dispatch| dispatch.token == LiveToken(5)));
    assert_eq!(scene.records.iter().map(Vec::len).collect::<Vec<_>>(), written);
    // A device that connects later gets nothing of it.
    scene.connect("d12");
    assert!(scene.sent.is_empty());
    assert_eq!(scene.live.iter().map(|dispatch| dispatch.to.len()).sum::<usize>(), 4);
    scene.check();
}

#[test]
fn one_device_gets_it_opted_in_or_not_with_texts_of_its_own() {
    let mut scene = Scene::new(1);
    let name = AttributeName::new("name").expect("a name");
    let attributes = vec![(name, Some(Value::Text("Eva".into())))];
    scene.change("a", Changes { attributes, opt_in: Some(false), ..Changes::default() });
    scene.connect("a");
    let words = Words { title: Some("hello {{name}}".into()), ..Words::default() };
    let notification = Notification { words, ..Notification::default() };
    let content = Content::Notification(Box::new(notification));
    let reach = live(&mut scene, NewPush { content, ..to_one(1, "a") });
    assert_eq!((reach.matched, reach.targeted, reach.connected), (1, 1, 1));
    let payload = String::from_utf8(scene.live[0].message.payload.to_vec()).expect("JSON");
    assert!(payload.contains("hello Eva"), "{payload}");
    let reach = live(&mut scene, to_one(2, "nobody"));
    assert_eq!((reach.matched, reach.targeted, reach.connected), (0, 0, 0));
}

#[test]
fn options_that_need_a_durable_push_are_refused() {
    let mut scene = Scene::new(1);
    let with = |options: Options| NewPush { options, ..to_all(1) };
    let durable = [
        Options { expiry: Some(1_000), ..Options::default() },
        Options { priority: 9, ..Options::default() },
        Options { pace: Pace::PerSecond(1), ..Options::default() },
    ];
    for options in durable {
        assert_eq!(refused(&mut scene, with(options)), "PSH-005");
    }
    assert_eq!(refused(&mut scene, NewPush { when: When::At(NOON.after(1)), ..to_all(1) }), "PSH-008");
    scene.send(to_all(1)).expect("a durable push");
    assert_eq!(refused(&mut scene, to_all(1)), "PSH-025");
}

#[test]
fn devices_in_their_quiet_hours_are_left_out_and_not_waited_for() {
    let mut scene = Scene::new(1);
    let quiet_hours = Some(stadium_registry::QuietHours::new(11 * 60, 13 * 60));
    scene.change("a", Changes { quiet_hours, ..Changes::default() });
    scene.register(&["b"]);
    for name in ["a", "b"] {
        scene.connect(name);
    }
    let reach = live(&mut scene, to_all(1));
    assert_eq!((reach.matched, reach.quiet, reach.targeted, reach.connected), (2, 1, 1, 1));
    let options = Options { quiet_hours: QuietHours::Ignore, ..Options::default() };
    let reach = live(&mut scene, NewPush { options, ..to_all(2) });
    assert_eq!((reach.quiet, reach.connected), (0, 2));
    let reach = live(&mut scene, push(3, Audience::Device(device("a"))));
    assert_eq!((reach.matched, reach.quiet, reach.targeted), (1, 1, 0));
}
