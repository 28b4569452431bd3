//! Pushes at certain times: by the world's clock, by each device's own, again and again; each occurrence once.
//!
//! Clocks that change and servers that were down are part of it.

use stadium_push::{
    Answer, Audience, Civil, Command, Held, Missed, NewPush, NewSchedule, ScheduleName, ScheduleView, Stage,
    State, Time, When, Zone,
};
use stadium_registry::{Changes, Selector, ZoneName};

use crate::platform::scene::{HOUR, NOON, Scene, app, push, to_all, to_one};

const DAY: u64 = 24 * HOUR;

fn zone(name: &str) -> Changes {
    Changes { time_zone: Some(Some(ZoneName::new(name).unwrap())), ..Changes::default() }
}

fn civil(at: Time) -> Civil {
    Civil((at.0 / 1_000) as i64)
}

fn schedule(cron: &str, zone: Zone, missed: Missed) -> NewSchedule {
    NewSchedule {
        name: ScheduleName::new("daily").unwrap(),
        cron: cron.into(),
        zone,
        missed,
        push: push(77, Audience::Selector(Selector::All)),
    }
}

fn put(scene: &mut Scene, schedule: NewSchedule) {
    scene.ask(Command::Schedule { schedule: Box::new(schedule) }).unwrap();
}

fn shown(scene: &mut Scene) -> ScheduleView {
    match scene.ask(Command::Schedules { app: app() }).unwrap() {
        Answer::Schedules(mut views) => views.remove(0),
        other => panic!("{other:?}"),
    }
}

/// Occurrences that made a push, the oldest first, and that each of these pushes is there.
fn made(scene: &mut Scene) -> Vec<Time> {
    let view = shown(scene);
    let mut made = Vec::new();
    for (at, push) in view.last.iter().rev() {
        if let Some(push) = push {
            let answer = scene.ask(Command::Push { app: app(), push: *push }).unwrap();
            assert!(matches!(answer, Answer::Push(Some(_))), "the push of {at:?}");
            made.push(*at);
        }
    }
    assert_eq!(view.made, made.len() as u64);
    made
}

#[test]
fn a_push_starts_at_its_time_also_after_a_restart() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    for (id, hours) in [(1, 1), (2, 2)] {
        scene.send(NewPush { when: When::At(NOON.after(hours * HOUR)), ..to_all(id) }).unwrap();
        scene.send(NewPush { when: When::At(NOON.after(hours * HOUR)), ..to_one(id + 10, "a") }).unwrap();
    }
    scene.run_until(NOON.after(HOUR - 1));
    assert!(scene.inbox("a").is_empty());
    assert_eq!(scene.view(1).stage, Stage::Scheduled);
    assert_eq!(scene.trace(1, "a").state, State::Scheduled);
    scene.run_until(NOON.after(HOUR));
    assert_eq!(scene.inbox("a"), [1, 11]);
    scene.restart();
    scene.run_until(NOON.after(3 * HOUR));
    assert_eq!(scene.inbox("a"), [1, 11, 2, 12]);
    scene.check();
}

#[test]
fn a_local_push_starts_zone_by_zone_and_once_in_each() {
    let mut scene = Scene::new(1);
    // 2026-03-29, when Berlin's clocks go forward at 02:00: 02:30 is not shown there.
    let shown_at = Time(1_774_751_400_000);
    scene.now = Time(shown_at.0 - 2 * DAY);
    for (name, zone_name) in [
        ("kiritimati", "Pacific/Kiritimati"),
        ("tokyo", "Asia/Tokyo"),
        ("berlin", "Europe/Berlin"),
        ("honolulu", "Pacific/Honolulu"),
    ] {
        scene.change(name, zone(zone_name));
    }
    scene.register(&["nowhere"]);
    scene.send(NewPush { when: When::Local(civil(shown_at)), ..to_all(1) }).unwrap();
    scene.send(NewPush { when: When::Local(civil(shown_at)), ..to_one(2, "tokyo") }).unwrap();
    let by_utc = |hours: i64| (shown_at.0 as i64 - hours * HOUR as i64) as u64;
    for (name, starts) in [
        ("kiritimati", by_utc(14)),
        ("tokyo", by_utc(9)),
        // The first instant behind the gap: 01:00 UTC.
        ("berlin", 1_774_746_000_000),
        ("nowhere", by_utc(0)),
        ("honolulu", by_utc(-10)),
    ] {
        scene.run_until(Time(starts - 1));
        assert!(!scene.inbox(name).contains(&1), "{name} has it early");
        scene.restart();
        scene.run_until(Time(starts));
        assert!(scene.inbox(name).contains(&1), "{name} has it late");
    }
    assert!(scene.inbox("tokyo").contains(&2));
    // A device that moves west meets the time again, and gets it once.
    scene.change("tokyo", zone("Pacific/Pago_Pago"));
    scene.wait(2 * DAY);
    assert_eq!(scene.counts(1).targeted, 5);
    scene.check();
}

#[test]
fn a_local_push_whose_time_is_past_everywhere_starts_at_once() {
    let mut scene = Scene::new(1);
    scene.change("a", zone("Europe/Berlin"));
    scene.register(&["b"]);
    scene.send(NewPush { when: When::Local(civil(Time(NOON.0 - DAY))), ..to_all(1) }).unwrap();
    scene.wait(1);
    assert_eq!(scene.counts(1).targeted, 2);
    scene.check();
}

#[test]
fn a_schedule_makes_each_occurrence_once() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    put(&mut scene, schedule("0 * * * *", Zone::Named("UTC".into()), Missed::Skip));
    assert_eq!(shown(&mut scene).next[..2], [NOON.after(HOUR), NOON.after(2 * HOUR)]);
    scene.run_until(NOON.after(HOUR));
    scene.restart();
    scene.tick(0);
    scene.run_until(NOON.after(3 * HOUR));
    assert_eq!(made(&mut scene), [1, 2, 3].map(|hours| NOON.after(hours * HOUR)));
    assert_eq!(scene.inbox("a").len(), 3);
    // Put again, it makes no occurrence again.
    put(&mut scene, schedule("0 * * * *", Zone::Named("UTC".into()), Missed::Skip));
    scene.wait(10);
    assert_eq!(scene.inbox("a").len(), 3);
    scene.check();
}

#[test]
fn daylight_saving_skips_and_doubles_no_day() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    let berlin = || Zone::Named("Europe/Berlin".into());
    // From 2026-03-28T00:00Z: 02:30 is skipped on the 29th and comes right behind the gap.
    scene.now = Time(1_774_656_000_000);
    put(&mut scene, schedule("30 2 * * *", berlin(), Missed::Skip));
    scene.wait(3 * DAY);
    assert_eq!(made(&mut scene), [1_774_661_400_000, 1_774_746_000_000, 1_774_830_600_000].map(Time));
    // From 2026-10-24T00:00Z: 02:30 is shown twice on the 25th and comes once.
    let mut scene = Scene::new(1);
    scene.now = Time(1_792_800_000_000);
    put(&mut scene, schedule("30 2 * * *", berlin(), Missed::Skip));
    scene.wait(3 * DAY);
    let made = made(&mut scene);
    assert_eq!(made.len(), 3, "{made:?}");
    scene.check();
}

#[test]
fn a_missed_occurrence_is_skipped_or_sent_late_once() {
    for (missed, down, expected_made, expected_skipped) in [
        (Missed::Skip, 5 * HOUR + HOUR / 2, 0, 5),
        (Missed::Late(HOUR), 5 * HOUR + HOUR / 2, 1, 4),
        (Missed::Late(HOUR / 4), 5 * HOUR + HOUR / 2, 0, 5),
        (Missed::Skip, HOUR + 30_000, 1, 0),
        (Missed::Late(HOUR), 5_000 * HOUR + HOUR / 2, 1, 4_999),
    ] {
        let mut scene = Scene::new(1);
        scene.register(&["a"]);
        put(&mut scene, schedule("0 * * * *", Zone::Named("UTC".into()), missed));
        // Nobody looks at the clock meanwhile.
        scene.now = NOON.after(down);
        scene.restart();
        scene.tick(0);
        let view = shown(&mut scene);
        assert_eq!((view.made, view.skipped), (expected_made, expected_skipped), "{missed:?} {down}");
        assert_eq!(scene.inbox("a").len() as u64, expected_made);
        assert!(view.next[0] > scene.now);
        scene.check();
    }
}

#[test]
fn a_local_schedule_comes_once_a_day_for_each_device() {
    let mut scene = Scene::new(1);
    scene.change("east", zone("Pacific/Kiritimati"));
    scene.change("west", zone("Pacific/Pago_Pago"));
    scene.register(&["utc"]);
    put(&mut scene, schedule("0 9 * * *", Zone::Local, Missed::Skip));
    scene.wait(DAY);
    scene.restart();
    scene.wait(4 * DAY);
    for name in ["east", "west", "utc"] {
        let pushes = scene.inbox(name).len();
        assert!((4..=5).contains(&pushes), "{name} had {pushes} in five days");
    }
    let made = made(&mut scene);
    assert!(made.windows(2).all(|pair| pair[1].0 - pair[0].0 == DAY), "{made:?}");
    scene.check();
}

#[test]
fn a_schedule_is_held_goes_on_and_is_dropped() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    put(&mut scene, schedule("0 * * * *", Zone::Named("UTC".into()), Missed::Late(DAY)));
    let name = ScheduleName::new("daily").unwrap();
    let hold = |held| Command::PauseSchedule { app: app(), name: name.clone(), held };
    scene.ask(hold(Held::Paused)).unwrap();
    scene.wait(3 * HOUR);
    assert!(scene.inbox("a").is_empty());
    scene.ask(hold(Held::Active)).unwrap();
    scene.wait(HOUR);
    assert_eq!(made(&mut scene), [NOON.after(4 * HOUR)]);
    scene.ask(Command::Unschedule { app: app(), name: name.clone() }).unwrap();
    scene.wait(3 * HOUR);
    assert_eq!(scene.inbox("a").len(), 1);
    let unknown = scene.ask(Command::Unschedule { app: app(), name }).unwrap_err();
    assert_eq!(unknown.code(), "PSH-024");
    scene.check();
}

#[test]
fn an_occurrence_comes_once_where_the_clock_is_set_back() {
    let hourly = || schedule("0 * * * *", Zone::Named("UTC".into()), Missed::Skip);
    let name = ScheduleName::new("daily").unwrap();
    let hold = |held| Command::PauseSchedule { app: app(), name: name.clone(), held };
    let changed = || NewSchedule { push: push(78, Audience::Selector(Selector::All)), ..hourly() };
    // Given a schedule that made its occurrence of 13:00, and a clock that is set back to 12:59 by a restart.
    let set_back = || {
        let mut scene = Scene::new(1);
        scene.register(&["a"]);
        put(&mut scene, hourly());
        scene.run_until(NOON.after(HOUR));
        assert_eq!(made(&mut scene), [NOON.after(HOUR)]);
        scene.now = NOON.after(HOUR - 60_000);
        scene.restart();
        scene.tick(0);
        scene
    };
    let change: [&dyn Fn(&mut Scene); 3] = [
        // When it is put again, with another push, or is paused and goes on.
        &|scene| put(scene, hourly()),
        &|scene| put(scene, changed()),
        &|scene| {
            scene.ask(hold(Held::Paused)).unwrap();
            scene.ask(hold(Held::Active)).unwrap();
        },
    ];
    for change in change {
        let mut scene = set_back();
        change(&mut scene);
        // Then 13:00 comes once, and 14:00 as ever.
        scene.run_until(NOON.after(2 * HOUR));
        assert_eq!(made(&mut scene), [1, 2].map(|hours| NOON.after(hours * HOUR)));
        assert_eq!(scene.inbox("a").len(), 2);
        scene.check();
    }
}

#[test]
fn a_schedule_that_is_put_again_forgets_a_date_that_was_wrong_by_years() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    let hourly = || schedule("0 * * * *", Zone::Named("UTC".into()), Missed::Late(HOUR));
    put(&mut scene, hourly());
    // Given a clock that showed a date years ahead.
    scene.now = NOON.after(1_000 * DAY);
    scene.tick(0);
    scene.now = NOON;
    scene.restart();
    // When it is put again, then it goes on at once.
    put(&mut scene, hourly());
    assert_eq!(shown(&mut scene).next[0], NOON.after(HOUR));
    scene.check();
}

#[test]
fn a_change_to_another_kind_of_clock_holds_nothing_back() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    // Given occurrences by devices' own clocks, the last of which lies ahead of UTC.
    put(&mut scene, schedule("0 * * * *", Zone::Local, Missed::Skip));
    scene.wait(HOUR);
    assert!(shown(&mut scene).last[0].0 > scene.now);
    // When the schedule is put by UTC, twice, then the next full hour is its next one.
    for _ in 0..2 {
        put(&mut scene, schedule("0 * * * *", Zone::Named("UTC".into()), Missed::Skip));
        assert_eq!(shown(&mut scene).next[0], NOON.after(2 * HOUR));
    }
    scene.check();
}

#[test]
fn schedules_without_content_are_refused() {
    let mut scene = Scene::new(1);
    for (cron, zone, code) in [
        ("nonsense", Zone::Local, "PSH-006"),
        ("0 0 31 2 *", Zone::Local, "PSH-006"),
        ("0 9 * * *", Zone::Named("Mars/Olympus".into()), "PSH-007"),
    ] {
        let schedule = Box::new(schedule(cron, zone, Missed::Skip));
        assert_eq!(scene.ask(Command::Schedule { schedule }).unwrap_err().code(), code, "{cron}");
    }
}
