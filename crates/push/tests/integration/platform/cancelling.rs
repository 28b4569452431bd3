//! Cancellations over several shards: the app's home decides what is cancelled, the others follow.
//!
//! A push that is still on its way to a shard is cancelled there too. One that was accepted after the decision is another one.

use stadium_push::{
    Answer, AppSettings, Command, Missed, NewSchedule, PushId, Refusal, ScheduleName, Stage, State, When,
    Zone,
};
use stadium_state_machine::MachineState as _;

use crate::platform::scene::{HOUR, NOON, Scene, app, device, push_id, to_all, to_one};

const SHARDS: u16 = 3;

fn cancel(id: u64) -> Command {
    Command::Cancel { app: app(), push: push_id(id) }
}

fn fleet(scene: &mut Scene) -> Vec<String> {
    let names: Vec<String> = (0..30).map(|n| format!("phone-{n}")).collect();
    names.iter().for_each(|name| scene.register(&[name]));
    names
}

fn home() -> usize {
    usize::from(stadium_push::app_home(&app(), SHARDS))
}

fn lives_at_home(name: &str) -> bool {
    usize::from(stadium_push::device_home(&app(), &device(name), SHARDS)) == home()
}

fn code(answer: Result<Answer, Refusal>) -> &'static str {
    answer.expect_err("it is refused").code()
}

#[test]
fn an_id_that_was_cancelled_in_vain_is_free_in_the_same_millisecond_and_after_the_clock_was_set_back() {
    for back in [0, 5_000] {
        let mut scene = Scene::new(SHARDS);
        let names = fleet(&mut scene);
        assert_eq!(code(scene.ask(cancel(1))), "PSH-021");
        scene.now = stadium_push::Time(scene.now.0 - back);
        scene.send(to_all(1)).unwrap();
        assert_eq!(scene.counts(1).targeted, 30, "{back} ms back");
        for name in &names {
            assert_eq!(scene.inbox(name), [1], "{name}, {back} ms back");
        }
        scene.check();
    }
}

#[test]
fn a_push_that_the_home_accepts_after_it_has_refused_a_cancellation_goes_on() {
    // Its message is there before the other shards hear of the cancellation, or after that.
    for is_there in [true, false] {
        let mut scene = Scene::new(SHARDS);
        let names = fleet(&mut scene);
        let mut parts = cancel(1).parts(SHARDS);
        let mut answers = scene.ask_shards(std::mem::take(&mut parts.asked));
        scene.ask(Command::Send { push: Box::new(to_all(1)) }).unwrap();
        if is_there {
            scene.pass_messages();
        }
        let elsewhere = scene.ask_shards(parts.then(&answers));
        answers.extend(elsewhere);
        assert_eq!(code(parts.merge(answers)), "PSH-021");
        scene.pass_messages();
        for name in &names {
            assert_eq!(scene.inbox(name), [1], "{name}");
        }
        // It can be cancelled as any other one.
        assert_eq!(scene.ask(cancel(1)), Ok(Answer::Done));
        for name in &names {
            assert_eq!(scene.trace(1, name).state, State::Cancelled, "{name}");
        }
        scene.check();
    }
}

#[test]
fn a_cancellation_that_overtakes_its_push_outlives_a_restart() {
    let mut scene = Scene::new(SHARDS);
    let names = fleet(&mut scene);
    scene.ask(Command::Send { push: Box::new(to_all(1)) }).unwrap();
    // Whatever the clocks show.
    scene.now = stadium_push::Time(scene.now.0 - 5_000);
    assert_eq!(scene.ask(cancel(1)), Ok(Answer::Done));
    assert_eq!(code(scene.ask(cancel(1))), "PSH-027", "it is cancelled everywhere");
    scene.check();
    scene.restart();
    for name in &names {
        scene.connect(name);
    }
    scene.pass_messages();
    assert_eq!(scene.take_sent(), []);
    for name in &names {
        assert_eq!(scene.trace(1, name).state, State::Cancelled, "{name}");
    }
    assert_eq!(scene.view(1).stage, Stage::Cancelled);
    assert_eq!(code(scene.ask(cancel(1))), "PSH-027");
    scene.check();
}

#[test]
fn a_cancellation_whose_client_left_after_the_home_decided_is_finished_by_the_next_one() {
    for is_there in [true, false] {
        let mut scene = Scene::new(SHARDS);
        let names = fleet(&mut scene);
        scene.ask(Command::Send { push: Box::new(to_all(1)) }).unwrap();
        if is_there {
            scene.pass_messages();
        }
        let mut parts = cancel(1).parts(SHARDS);
        scene.ask_shards(std::mem::take(&mut parts.asked));
        assert_eq!(scene.ask(cancel(1)), Ok(Answer::Done), "the other shards end it now");
        assert_eq!(code(scene.ask(cancel(1))), "PSH-027");
        scene.pass_messages();
        for name in &names {
            assert_eq!(scene.trace(1, name).state, State::Cancelled, "{name}");
        }
        scene.check();
    }
}

#[test]
fn a_push_that_is_over_at_home_is_cancelled_where_its_message_has_not_come() {
    let mut scene = Scene::new(SHARDS);
    let names = fleet(&mut scene);
    let far: Vec<&String> = names.iter().filter(|name| !lives_at_home(name)).collect();
    for name in names.iter().filter(|name| lives_at_home(name)) {
        scene.connect(name);
    }
    scene.ask(Command::Send { push: Box::new(to_all(1)) }).unwrap();
    assert_eq!(scene.acknowledge_all(), names.len() - far.len());
    assert_eq!(scene.ask(cancel(1)), Ok(Answer::Done));
    scene.pass_messages();
    for name in far {
        assert_eq!(scene.trace(1, name).state, State::Cancelled, "{name}");
    }
    assert_eq!(scene.view(1).stage, Stage::Cancelled);
    scene.check();
}

#[test]
fn a_push_that_the_home_does_not_remember_is_cancelled_where_devices_are_owed_it() {
    let mut scene = Scene::new(SHARDS);
    scene.settings(AppSettings { remember: HOUR, ..AppSettings::default() });
    let names = fleet(&mut scene);
    for name in names.iter().filter(|name| lives_at_home(name)) {
        scene.connect(name);
    }
    scene.send(to_all(1)).unwrap();
    scene.acknowledge_all();
    scene.wait(2 * HOUR);
    assert_eq!(scene.ask(cancel(1)), Ok(Answer::Done));
    for name in names.iter().filter(|name| !lives_at_home(name)) {
        assert_eq!(scene.trace(1, name).state, State::Cancelled, "{name}");
    }
    scene.check();
}

#[test]
fn a_push_that_has_not_started_and_one_to_a_single_device_are_cancelled_where_they_are() {
    let mut scene = Scene::new(SHARDS);
    let names = fleet(&mut scene);
    scene.send(stadium_push::NewPush { when: When::At(NOON.after(HOUR)), ..to_all(1) }).unwrap();
    for (id, name) in (2..).zip(&names) {
        scene.send(to_one(id, name)).unwrap();
    }
    for id in 1..32 {
        assert_eq!(scene.ask(cancel(id)), Ok(Answer::Done), "push {id}");
        assert_eq!(code(scene.ask(cancel(id))), "PSH-027", "push {id}");
    }
    scene.wait(2 * HOUR);
    assert!(names.iter().all(|name| scene.inbox(name).is_empty()));
    scene.check();
}

#[test]
fn an_app_that_a_shard_does_not_know_yet_keeps_no_cancellation_from_it() {
    let mut scene = Scene::new(SHARDS);
    let shop = stadium_registry::AppName::new("shop").unwrap();
    let at_home = stadium_push::app_home(&shop, SHARDS);
    // Only the home was asked before the one who declares it went away.
    let declare = Command::DeclareApp { app: shop.clone(), settings: AppSettings::default() };
    scene.ask_shards(vec![(at_home, declare)]).remove(0).unwrap();
    let push = stadium_push::NewPush { app: shop.clone(), ..to_all(1) };
    scene.ask(Command::Send { push: Box::new(push) }).unwrap();
    assert_eq!(scene.ask(Command::Cancel { app: shop.clone(), push: push_id(1) }), Ok(Answer::Done));
    (0..2).for_each(|_| scene.pass_messages());
    let all_arrived = scene.shards.iter().all(|shard| shard.outgoing_first() == shard.outgoing_next());
    assert!(all_arrived, "the app's message comes first, then the push's");
    let Answer::Push(Some(view)) = scene.ask(Command::Push { app: shop, push: push_id(1) }).unwrap() else {
        panic!("it is known")
    };
    assert_eq!((view.stage, view.counts.targeted), (Stage::Cancelled, 0));
    scene.check();
}

#[test]
fn a_settled_push_is_forgotten_before_its_time_on_all_shards() {
    let mut scene = Scene::new(SHARDS);
    let names = fleet(&mut scene);
    let forget = |id| Command::Forget { app: app(), push: push_id(id) };
    let one = &names[0];
    for push in [to_all(1), to_one(2, one)] {
        scene.send(push).unwrap();
    }
    for id in [1, 2] {
        assert_eq!(scene.ask(forget(id)), Ok(Answer::Removed(0)), "devices are owed push {id}");
        assert_eq!(scene.ask(cancel(id)), Ok(Answer::Done));
        let Ok(Answer::Removed(shards)) = scene.ask(forget(id)) else { panic!("it is settled") };
        assert_eq!(shards, if id == 1 { u64::from(SHARDS) } else { 1 });
        assert_eq!(scene.ask(Command::Push { app: app(), push: push_id(id) }), Ok(Answer::Push(None)));
        assert_eq!(scene.ask(forget(id)), Ok(Answer::Removed(0)), "it is not known any more");
    }
    assert!(scene.inbox(one).is_empty());
    scene.check();
}

#[test]
fn an_occurrence_for_one_device_is_cancelled_on_its_way_to_the_shard_of_the_device() {
    let mut scene = Scene::new(SHARDS);
    let names = fleet(&mut scene);
    let far = names.iter().find(|name| !lives_at_home(name)).expect("names spread over shards");
    let schedule = NewSchedule {
        name: ScheduleName::new("hourly").unwrap(),
        cron: "0 * * * *".into(),
        zone: Zone::Named("UTC".into()),
        missed: Missed::Skip,
        push: to_one(1, far),
    };
    scene.ask(Command::Schedule { schedule: Box::new(schedule) }).unwrap();
    scene.now = NOON.after(HOUR);
    scene.tick(home());
    let occurrence = PushId(push_id(1).0 | u128::from(scene.now.0 / 1_000));
    let cancel = Command::Cancel { app: app(), push: occurrence };
    assert_eq!(scene.ask(cancel.clone()), Ok(Answer::Done));
    assert_eq!(code(scene.ask(cancel)), "PSH-027");
    scene.pass_messages();
    assert!(scene.inbox(far).is_empty());
    let Answer::Push(Some(view)) = scene.ask(Command::Push { app: app(), push: occurrence }).unwrap() else {
        panic!("it is known")
    };
    assert_eq!(view.stage, Stage::Cancelled);
    scene.check();
}
