//! Why did this phone not get it? Each answer is a sentence that stands alone.
//!
//! The sentences are compared word for word: they are what people read.

use stadium_push::{Civil, CollapseKey, Command, Happened, NewPush, Options, State, When};
use stadium_registry::Changes;

use crate::platform::scene::{HOUR, NOON, Scene, app, device, push_id, to_all, to_one, to_tag};

#[test]
fn a_trace_of_a_push_by_device_clocks_shows_device_times() {
    let mut scene = Scene::new(1);
    scene.register(&["phone-7"]);
    let tomorrow = Civil((NOON.0 / 1_000) as i64 + 86_400);
    scene.send(NewPush { when: When::Local(tomorrow), ..to_all(1) }).unwrap();
    assert_eq!(
        scene.trace(1, "phone-7").sentence,
        "It has not started for phone-7: it does when clocks in its time zone show 12:00 on 2026-07-02, and reaches it then if it matches."
    );
}

#[test]
fn each_outcome_is_described_in_a_sentence() {
    let mut scene = Scene::new(1);
    scene.register(&["phone-7", "other"]);
    scene.tag("other", "vip");
    let with = |push: NewPush, options: Options| NewPush { options, ..push };
    let short = || Options { expiry: Some(2 * HOUR), ..Options::default() };
    let key = || Options { collapse: Some(CollapseKey::new("score").unwrap()), ..short() };
    scene.send(with(to_all(1), short())).unwrap();
    scene.send(with(to_tag(2, "vip"), short())).unwrap();
    scene.send(with(to_one(3, "phone-7"), key())).unwrap();
    scene.send(with(to_all(4), key())).unwrap();
    scene.send(NewPush { when: When::At(NOON.after(4 * HOUR)), ..to_all(5) }).unwrap();
    scene.send(with(to_one(6, "nobody"), short())).unwrap();
    let expect = |scene: &mut Scene, id: u64, expected: &str| {
        let trace = scene.trace(id, if id == 6 { "nobody" } else { "phone-7" });
        assert_eq!(trace.sentence, expected, "{trace:?}");
    };
    expect(
        &mut scene,
        1,
        "phone-7 has not got it yet: it is not connected; it gets it when it comes until 14:00 UTC.",
    );
    expect(
        &mut scene,
        3,
        "phone-7 did not get it: a newer push with the collapse key \"score\" took its place.",
    );
    expect(
        &mut scene,
        5,
        "It has not started: it does at 16:00 UTC, and reaches phone-7 then if it matches.",
    );
    expect(&mut scene, 6, "nobody did not get it: it was not registered when the push started at 12:00 UTC.");
    let trace = scene.trace(2, "phone-7");
    assert!(matches!(&trace.state, State::NotMatched { .. }), "{trace:?}");
    assert!(
        trace.sentence.starts_with("phone-7 did not get it: the audience asks for tag \"vip\""),
        "{}",
        trace.sentence
    );
    scene.run_until(NOON.after(2 * HOUR + 1));
    expect(
        &mut scene,
        1,
        "phone-7 did not get it: it was not connected until the push expired at 14:00 UTC.",
    );

    scene.run_until(NOON.after(3 * HOUR + 1_203));
    let connection = scene.connect("phone-7");
    for (id, push) in [(7, to_all(7)), (8, to_one(8, "phone-7"))] {
        let at = scene.now;
        scene.send(push).unwrap();
        scene.answer_all(Happened::Acknowledged);
        let over = format!("connection {connection}");
        let clock = if id == 7 { "15:00:01.203 UTC" } else { "15:00:01.243 UTC" };
        expect(&mut scene, id, &format!("It was sent at {clock} over {over} and acknowledged 40 ms later."));
        let trace = scene.trace(id, "phone-7");
        let steps: Vec<_> = trace.steps.iter().map(|step| step.what).collect();
        let expected: &[&str] = if id == 7 {
            &["accepted", "started", "targeted", "sent", "acknowledged"]
        } else {
            &["accepted", "started", "sent", "acknowledged"]
        };
        assert_eq!(steps, expected);
        assert!(trace.steps.iter().all(|step| step.at >= at));
        let opened = Command::Opened { app: app(), device: device("phone-7"), push: push_id(id) };
        for _ in 0..2 {
            scene.ask(opened.clone()).unwrap();
        }
        assert_eq!(scene.trace(id, "phone-7").state, State::Opened);
        let view = scene.view(id);
        assert_eq!((view.counts.opened, view.acknowledged.last_ms), (1, 40));
        let sample = view.series[0];
        assert_eq!((sample.sent, sample.acknowledged, sample.opened), (1, 1, 1));
    }
    let not_sent = scene.ask(Command::Opened { app: app(), device: device("phone-7"), push: push_id(1) });
    assert_eq!(not_sent.unwrap_err().code(), "PSH-028");
    scene.send(to_one(9, "phone-7")).unwrap();
    scene.answer_all(Happened::Refused);
    expect(&mut scene, 9, "phone-7 did not get it: it refused it.");
    scene.change("phone-7", Changes { opt_in: Some(false), ..Changes::default() });
    scene.send(to_all(10)).unwrap();
    expect(&mut scene, 10, "phone-7 did not get it: it has not opted in.");
    scene.check();
}
