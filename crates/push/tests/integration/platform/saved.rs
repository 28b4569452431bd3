//! A checkpoint is the state at its beginning, however much changes while it is written; damaged ones are refused.
//!
//! Bytes that are no checkpoint and no event are an error, never a crash.

use stadium_push::{Command, NewPush, When};
use stadium_state_machine::{Checkpointed as _, MachineState as _, StateMachine as _};

use crate::platform::model::{Deeds, Model};
use crate::platform::scene::{
    HOUR, NOON, Scene, app, checkpoint, push_id, rest_of_checkpoint, restored, show, to_all, to_one,
};

#[test]
fn a_checkpoint_is_the_state_at_its_beginning() {
    for seed in 0..12 {
        let mut model = Model::new(seed);
        model.run(150, &Deeds::ALL);
        model.leave_all();
        let now = model.scene.now;
        let shown = show(&mut model.scene.shards[0], now);
        let records = model.scene.records[0].len();
        model.scene.shards[0].checkpoint_begin();
        let mut chunks = Vec::new();
        for _ in 0..3 {
            let mut chunk = Vec::new();
            assert!(model.scene.shards[0].checkpoint_next(&mut chunk, 100));
            chunks.push(chunk);
            model.run(30, &Deeds::ALL);
        }
        chunks.extend(rest_of_checkpoint(&mut model.scene.shards[0]));
        let mut restored = restored(&chunks, &model.scene.bounds, 0, 1);
        assert_eq!(show(&mut restored, now), shown, "seed {seed}");
        // And the records behind it lead to the state that is.
        model.leave_all();
        for (at, time, events) in &model.scene.records[0][records..] {
            restored.apply(*at, *time, 0, events).unwrap();
        }
        let now = model.scene.now;
        assert_eq!(show(&mut restored, now), show(&mut model.scene.shards[0], now), "seed {seed}");
    }
}

#[test]
fn bytes_that_no_checkpoint_holds_are_refused() {
    let mut scene = Scene::new(1);
    for number in 0..20 {
        scene.register(&[&format!("d{number}")]);
    }
    scene.send(to_all(1)).unwrap();
    scene.send(to_one(2, "d3")).unwrap();
    scene.send(NewPush { when: When::At(scene.now.after(HOUR)), ..to_all(3) }).unwrap();
    let chunks = checkpoint(&mut scene.shards[0]);
    let mut random = fastrand::Rng::with_seed(3);
    for _ in 0..2_000 {
        let mut damaged = chunks.clone();
        let chunk = random.usize(0..damaged.len());
        match random.u8(0..4) {
            0 => drop(damaged.remove(chunk)),
            1 => {
                let at = random.usize(0..damaged[chunk].len());
                damaged[chunk][at] ^= 1 << random.u8(0..8);
            }
            2 => {
                let at = random.usize(0..damaged[chunk].len());
                damaged[chunk].truncate(at);
            }
            _ => {
                let again = damaged[chunk].clone();
                damaged.insert(chunk, again);
            }
        }
        // It may be another state; it never is a crash.
        let place = stadium_state_machine::Place { shard: 0, shards: 1, hash_seed: 0 };
        let mut platform = stadium_push::Platform::new(place, scene.bounds.clone());
        let whole = damaged
            .iter()
            .try_for_each(|chunk| platform.restore(chunk))
            .and_then(|()| platform.restore_finish());
        if whole.is_ok() {
            let page = Command::Pushes { app: app(), before: None, pushes_max: 10 };
            let _ = platform.read(scene.now, &page);
        }
    }
}

#[test]
fn damaged_events_are_refused() {
    let mut model = Model::new(4);
    model.run(200, &Deeds::ALL);
    let records = model.scene.records[0].clone();
    let mut random = fastrand::Rng::with_seed(9);
    let place = stadium_state_machine::Place { shard: 0, shards: 1, hash_seed: 0 };
    for _ in 0..300 {
        let mut platform = stadium_push::Platform::new(place, model.scene.bounds.clone());
        let hit = random.usize(0..records.len());
        for (number, (at, time, events)) in records.iter().enumerate() {
            let mut events = events.clone();
            if number == hit {
                let at = random.usize(0..events.len());
                if random.bool() {
                    events[at] ^= 1 << random.u8(0..8);
                } else {
                    events.truncate(at);
                }
            }
            if platform.apply(*at, *time, 0, &events).is_err() {
                break;
            }
        }
    }
}

#[test]
fn a_change_of_a_push_that_started_or_was_cancelled_is_damage() {
    for (which, push) in [to_all(1), to_one(1, "a")].into_iter().enumerate() {
        for is_cancelled in [true, false] {
            let mut scene = Scene::new(1);
            scene.register(&["a"]);
            let at = |hours: u64| NewPush { when: When::At(NOON.after(hours * HOUR)), ..push.clone() };
            scene.send(at(1)).unwrap();
            scene.ask(Command::Edit { push: Box::new(at(2)) }).unwrap();
            // The record of the change is out of its place: behind the end of the push.
            let (position, time, edit) = scene.records[0].pop().unwrap();
            scene.restart();
            if is_cancelled {
                scene.ask(Command::Cancel { app: app(), push: push_id(1) }).unwrap();
            } else {
                scene.wait(HOUR + 1);
            }
            let damaged = scene.shards[0].apply(position, time, 0, &edit);
            assert!(damaged.is_err(), "push {which}, cancelled: {is_cancelled}");
        }
    }
}

#[test]
fn an_app_that_is_dropped_while_a_checkpoint_is_taken_is_in_it() {
    let mut scene = Scene::new(1);
    let shop = stadium_registry::AppName::new("shop").unwrap();
    let settings = stadium_push::AppSettings::default();
    scene.ask(Command::DeclareApp { app: shop.clone(), settings }).unwrap();
    let devices: Vec<_> = (0..40)
        .map(|n| (crate::platform::scene::device(&format!("d{n}")), stadium_registry::Changes::default()))
        .collect();
    scene.ask(Command::Change { app: shop.clone(), devices }).unwrap();
    scene.send(NewPush { app: shop.clone(), ..to_all(1) }).unwrap();
    scene.send(NewPush { app: shop.clone(), ..to_one(2, "d3") }).unwrap();
    let now = scene.now;
    let shown = show(&mut scene.shards[0], now);
    scene.shards[0].checkpoint_begin();
    scene.ask(Command::DropApp { app: shop.clone() }).unwrap();
    scene.ask(Command::DeclareApp { app: shop, settings: stadium_push::AppSettings::default() }).unwrap();
    let chunks = rest_of_checkpoint(&mut scene.shards[0]);
    let mut restored = restored(&chunks, &scene.bounds, 0, 1);
    assert_eq!(show(&mut restored, now), shown);
    scene.check();
}
