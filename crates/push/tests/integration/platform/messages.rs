//! Three shards wired together: messages come twice, late or not at all, and each push starts once
//! on each shard.
//!
//! The result for a client is put together from all of them.

use stadium_push::{
    Answer, AppSettings, Audience, Bounds, Command, Missed, NewPush, NewSchedule, ScheduleName, Stage, State,
    When, Zone,
};
use stadium_registry::AppName;
use stadium_state_machine::{MachineState as _, StateMachine as _};

use crate::platform::scene::{HOUR, NOON, Scene, app, device, push_id, to_all, to_one};

/// Whether a shard has messages that are not confirmed.
fn waits(scene: &Scene, shard: usize) -> bool {
    scene.shards[shard].outgoing_first() < scene.shards[shard].outgoing_next()
}

fn fleet(scene: &mut Scene) -> Vec<String> {
    let names: Vec<String> = (0..30).map(|n| format!("phone-{n}")).collect();
    for name in &names {
        scene.register(&[name]);
    }
    names
}

#[test]
fn a_push_to_many_reaches_the_devices_of_all_shards() {
    let mut scene = Scene::new(3);
    let names = fleet(&mut scene);
    for name in &names[..10] {
        scene.connect(name);
    }
    scene.send(to_all(1)).unwrap();
    assert_eq!(scene.acknowledge_all(), 10);
    let view = scene.view(1);
    assert_eq!((view.counts.devices, view.counts.targeted, view.counts.delivered), (30, 30, 10));
    assert_eq!(view.acknowledged.count, 10);
    for name in &names[10..] {
        assert_eq!(scene.trace(1, name).state, State::Owed);
    }
    let mut listed = Vec::new();
    let mut after = None;
    loop {
        let page =
            Command::Deliveries { app: app(), push: push_id(1), after: after.clone(), deliveries_max: 7 };
        let Answer::Deliveries(page) = scene.ask(page).unwrap() else { panic!() };
        let Some(last) = page.last() else { break };
        after = Some(last.device.clone());
        listed.extend(page.into_iter().map(|delivery| delivery.device.to_string()));
    }
    listed.sort();
    let mut expected = names.clone();
    expected.sort();
    assert_eq!(listed, expected);
    scene.check();
}

#[test]
fn messages_that_come_twice_or_late_start_a_push_once() {
    let mut random = fastrand::Rng::with_seed(5);
    for _ in 0..40 {
        let mut scene = Scene::new(3);
        let names = fleet(&mut scene);
        for id in 1..=6 {
            scene.ask(Command::Send { push: Box::new(to_all(id)) }).unwrap();
        }
        let mut steps = 0;
        loop {
            let home = (0..3).find(|&shard| waits(&scene, shard));
            let Some(home) = home else { break };
            steps += 1;
            assert!(steps < 10_000, "messages arrive in the end");
            let mut messages = Vec::new();
            let first = scene.shards[home].outgoing_first();
            scene.shards[home].outgoing(first, &mut |_, _| None, &mut |to, number, message| {
                messages.push((usize::from(to), number, message));
            });
            let (to, number, message) = messages.swap_remove(random.usize(0..messages.len()));
            match random.u8(0..10) {
                // Lost on its way.
                0..=2 => {}
                // Its confirmation is lost: it arrives again.
                3..=5 => scene.receive(home, to, number, &message).unwrap(),
                6 => scene.restart(),
                _ => {
                    scene.receive(home, to, number, &message).unwrap();
                    scene.receive(home, to, number, &message).unwrap();
                    scene.confirm(home, number);
                    scene.receive(home, to, number, &message).unwrap();
                }
            }
        }
        for name in &names {
            let mut inbox = scene.inbox(name);
            inbox.sort_unstable();
            assert_eq!(inbox, [1, 2, 3, 4, 5, 6], "{name}");
        }
        scene.check();
    }
}

#[test]
fn a_push_cancelled_before_its_message_comes_does_not_start() {
    let mut scene = Scene::new(3);
    let names = fleet(&mut scene);
    scene.ask(Command::Send { push: Box::new(to_all(1)) }).unwrap();
    scene.ask(Command::Cancel { app: app(), push: push_id(1) }).unwrap();
    scene.pass_messages();
    for name in &names {
        assert!(scene.inbox(name).is_empty());
        assert_eq!(scene.trace(1, name).state, State::Cancelled, "{name}");
    }
    assert_eq!(scene.view(1).stage, Stage::Cancelled);
    // The id of another one that was cancelled in vain is free.
    scene.ask(Command::Cancel { app: app(), push: push_id(2) }).unwrap_err();
    scene.wait(1_000);
    scene.send(to_all(2)).unwrap();
    assert_eq!(scene.counts(2).targeted, 30);
    scene.check();
}

#[test]
fn settings_reach_all_shards_and_an_app_is_known_everywhere_at_once() {
    let mut scene = Scene::new(3);
    let shop = AppName::new("shop").unwrap();
    let settings = AppSettings { inbox_max: 2, ..AppSettings::default() };
    scene.ask(Command::DeclareApp { app: shop.clone(), settings: settings.clone() }).unwrap();
    let devices: Vec<_> = (0..12).map(|n| (device(&format!("d{n}")), Default::default())).collect();
    let Answer::Changed(outcomes) = scene.ask(Command::Change { app: shop.clone(), devices }).unwrap() else {
        panic!()
    };
    assert!(outcomes.iter().all(Result::is_ok));
    scene.pass_messages();
    for id in 1..=3 {
        scene.send(NewPush { app: shop.clone(), ..to_all(id) }).unwrap();
    }
    let push = scene.ask(Command::Push { app: shop.clone(), push: push_id(1) }).unwrap();
    let Answer::Push(Some(view)) = push else { panic!() };
    assert_eq!(view.counts.crowded_out, 12, "all shards know the bound");
    let Answer::Apps(apps) = scene.ask(Command::Apps { after: None, apps_max: 10 }).unwrap() else {
        panic!()
    };
    assert_eq!(apps.len(), 2);
    assert_eq!((apps[1].devices, apps[1].settings.clone()), (12, Some(settings)));
    scene.ask(Command::DropApp { app: shop }).unwrap();
    scene.pass_messages();
    scene.check();
}

#[test]
fn schedules_and_times_hold_on_all_shards() {
    let mut scene = Scene::new(3);
    let names = fleet(&mut scene);
    scene.send(NewPush { when: When::At(NOON.after(HOUR)), ..to_all(1) }).unwrap();
    for name in &names[..3] {
        assert_eq!(scene.trace(1, name).state, State::Scheduled);
    }
    for (name, push) in [("all", to_all(7)), ("one", to_one(8, &names[4]))] {
        let schedule = NewSchedule {
            name: ScheduleName::new(name).unwrap(),
            cron: "0 * * * *".into(),
            zone: Zone::Named("UTC".into()),
            missed: Missed::Skip,
            push,
        };
        scene.ask(Command::Schedule { schedule: Box::new(schedule) }).unwrap();
    }
    scene.run_until(NOON.after(2 * HOUR + 1));
    for (place, name) in names.iter().enumerate() {
        let inbox = scene.inbox(name);
        assert_eq!(inbox.len(), if place == 4 { 5 } else { 3 }, "{name}: {inbox:?}");
    }
    let Answer::Pushes(pushes) =
        scene.ask(Command::Pushes { app: app(), before: None, pushes_max: 100 }).unwrap()
    else {
        panic!()
    };
    assert_eq!(pushes.len(), 5);
    let to_many = pushes.iter().filter(|view| !matches!(view.push.audience, Audience::Device(_)));
    assert!(to_many.clone().count() == 3 && to_many.clone().all(|view| view.counts.targeted == 30));
    assert!(pushes.is_sorted_by_key(|view| std::cmp::Reverse(view.accepted_at)));
    scene.check();
}

#[test]
fn a_shard_that_has_no_room_takes_a_message_in_later_and_nothing_is_lost() {
    let mut scene = Scene::with(2, Bounds { pushes_max: 3, ..Bounds::default() });
    let home = usize::from(stadium_push::app_home(&app(), 2));
    let lives_far = |name: &String| usize::from(stadium_push::device_home(&app(), &device(name), 2)) != home;
    let far: Vec<String> = (0..30).map(|n| format!("phone-{n}")).filter(lives_far).take(3).collect();
    far.iter().for_each(|name| scene.register(&[name]));
    for (id, name) in (1..=3).zip(&far) {
        scene.send(to_one(id, name)).unwrap();
    }
    scene.send(to_all(4)).unwrap();
    assert!(waits(&scene, home), "it is not taken in: there is no room");
    assert_eq!(scene.inbox(&far[0]), [1]);
    // Nobody is owed them at home, and yet it takes no more of them than it may keep for the other shard.
    (5..=6).for_each(|id| drop(scene.send(to_all(id)).unwrap()));
    let full = scene.send(to_all(7)).unwrap_err();
    assert_eq!(full.code(), "PSH-041");
    for name in &far {
        scene.connect(name);
    }
    assert_eq!(scene.acknowledge_all(), 3);
    far.iter().for_each(|name| scene.disconnect(name));
    scene.pass_messages();
    assert!(!waits(&scene, home));
    for name in &far {
        assert_eq!(scene.inbox(name), [4, 5, 6]);
    }
    scene.check();
}
