//! A slot goes from a device that was removed to the next one that is registered: the data that
//! pushes keep of the first are not about the second.
//!
//! No decision here depends on times: both may be registered in one second, and a clock may be set
//! back.

use stadium_push::{
    Answer, Cap, Command, DeliveryView, Happened, NewPush, Options, PushId, State, Time, When,
};

use crate::platform::scene::{HOUR, NOON, Scene, app, device, push_id, to_all, to_one};

fn deliveries(scene: &mut Scene, push: PushId) -> Vec<(String, State)> {
    let all = Command::Deliveries { app: app(), push, after: None, deliveries_max: 100 };
    let Ok(Answer::Deliveries(views)) = scene.ask(all) else { panic!() };
    views.into_iter().map(|DeliveryView { device, state, .. }| (device.to_string(), state)).collect()
}

fn newest(scene: &mut Scene, name: &str) -> usize {
    match scene.ask(Command::Device { app: app(), device: device(name) }).unwrap() {
        Answer::Device(Some(view)) => view.newest.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_next_device_of_a_slot_has_nothing_of_the_pushes_before() {
    let mut scene = Scene::new(1);
    scene.register(&["first"]);
    scene.connect("first");
    scene.send(to_all(1)).unwrap();
    scene.answer_all(Happened::Acknowledged);
    scene.disconnect("first");
    scene.send(to_all(2)).unwrap();
    scene.send(NewPush { when: When::At(NOON.after(HOUR)), ..to_all(3) }).unwrap();
    scene.ask(Command::Remove { app: app(), devices: vec![device("first")] }).unwrap();
    scene.register(&["second"]);
    for id in [1, 2] {
        assert_eq!(deliveries(&mut scene, push_id(id)), []);
        assert_eq!(scene.trace(id, "second").state, State::NotRegistered);
        let opened = Command::Opened { app: app(), device: device("second"), push: push_id(id) };
        assert_eq!(scene.ask(opened).unwrap_err().code(), "PSH-028");
    }
    assert_eq!(newest(&mut scene, "second"), 0);
    let (one, two) = (scene.counts(1), scene.counts(2));
    assert_eq!((one.delivered, two.cancelled), (1, 1), "what was counted stays so");
    // It was given no push yet, whatever the first one had.
    let cap = Options { cap: Some(Cap { pushes: 1, within: HOUR }), ..Options::default() };
    scene.send(NewPush { options: cap, ..to_one(4, "second") }).unwrap();
    assert_eq!(scene.trace(4, "second").state, State::Owed);
    // One that was accepted before it came and starts after that is its own.
    scene.wait(2 * HOUR);
    assert_eq!(deliveries(&mut scene, push_id(3)), [("second".to_owned(), State::Owed)]);
    assert_eq!(scene.trace(3, "second").state, State::Owed);
    scene.check();
    scene.ask(Command::Remove { app: app(), devices: vec![device("second")] }).unwrap();
    scene.register(&["third"]);
    assert_eq!(deliveries(&mut scene, push_id(3)), []);
    scene.check();
}

#[test]
fn a_clock_that_is_set_back_hides_no_delivery() {
    let mut scene = Scene::new(1);
    scene.now = NOON.after(HOUR);
    scene.register(&["a"]);
    scene.now = Time(NOON.0);
    scene.send(to_all(1)).unwrap();
    assert_eq!(deliveries(&mut scene, push_id(1)), [("a".to_owned(), State::Owed)]);
    assert_eq!(scene.trace(1, "a").state, State::Owed);
    assert_eq!(newest(&mut scene, "a"), 1);
    scene.check();
}
