//! Fixtures of docs/formats/push-events.md: records and a checkpoint of two shards as each version of the checkpoint wrote them.
//!
//! They stay for ever, and are read for ever. `STADIUM_WRITE_FIXTURE=1` writes the newest ones anew, which is right only before that version is released.

use std::path::PathBuf;

use stadium_push::{
    Answer, Audience, AudienceName, Bounds, Cap, Civil, ClickAction, CollapseKey, Command, ConnectionName,
    Content, Happened, Held, Missed, NewPush, NewSchedule, Notification, Options, Pace, Platform, QuietHours,
    ScheduleName, Time, When, Words, Zone,
};
use stadium_registry::{Changes, Selector};
use stadium_state_machine::encoding::{Reader, number};
use stadium_state_machine::{Delivery, MachineState as _, Place, Record, Section, StateMachine as _};

use crate::platform::scene::{
    HOUR, NOON, Scene, app, checkpoint, device, in_memory, push, push_id, restored, show, to_all, to_one,
    to_tag,
};

fn file(version: u8, name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/v{version}")).join(name)
}

/// Every event and every option, once at least.
fn test() -> Scene {
    let mut scene = Scene::new(2);
    for number in 0..8 {
        scene.register(&[&format!("phone-{number}")]);
    }
    scene.tag("phone-0", "vip");
    let quiet = stadium_registry::QuietHours::new(11 * 60, 13 * 60);
    scene.change("phone-1", Changes { quiet_hours: Some(quiet), ..Changes::default() });
    let name = AudienceName::new("best").unwrap();
    let audience = Selector::Tag("vip".parse().unwrap());
    scene.ask(Command::SaveAudience { app: app(), name: name.clone(), audience: audience.clone() }).unwrap();
    let other = AudienceName::new("other").unwrap();
    scene.ask(Command::SaveAudience { app: app(), name: other.clone(), audience }).unwrap();
    scene.ask(Command::DropAudience { app: app(), name: other }).unwrap();
    (0..4).for_each(|number| {
        scene.connect(&format!("phone-{number}"));
    });
    let words = |title: &str| Words {
        title: Some(title.into()),
        body: Some("{{name|you}}".into()),
        data: Some("[1]".into()),
    };
    let notification = Notification {
        words: words("hello"),
        platforms: vec![("ios".into(), words("phone"))],
        languages: vec![("de".into(), words("hallo"))],
    };
    let options = Options {
        expiry: Some(2 * HOUR),
        priority: 7,
        collapse: Some(CollapseKey::new("score").unwrap()),
        pace: Pace::PerSecond(1_000),
        cap: Some(Cap { pushes: 5, within: HOUR }),
        quiet_hours: QuietHours::Wait,
        qos: 1,
        holdout: 10,
        trace: None,
    };
    let content = Content::Notification(Box::new(notification));
    scene.send(NewPush { content, options, ..push(1, Audience::Saved(name)) }).unwrap();
    scene
        .send(NewPush { options: Options { pace: Pace::Over(1_000), ..Options::default() }, ..to_all(2) })
        .unwrap();
    scene.send(NewPush { options: Options { qos: 0, ..Options::default() }, ..to_all(3) }).unwrap();
    let content = Content::Raw {
        payload: "x".into(),
        content_type: Some("text/plain".into()),
        properties: vec![("name".into(), "value".into())],
    };
    scene.send(NewPush { content, ..to_one(4, "phone-0") }).unwrap();
    scene.answer_all(Happened::Acknowledged);
    scene.send(to_one(5, "phone-2")).unwrap();
    scene.answer_all(Happened::Refused);
    scene.send(to_one(6, "phone-1")).unwrap();
    scene.ask(Command::Opened { app: app(), device: device("phone-0"), push: push_id(4) }).unwrap();
    for (name, push, action) in
        [("phone-0", 4, Some("buy")), ("phone-0", 2, None), ("phone-2", 2, Some("later"))]
    {
        let action = action.map(|name| ClickAction::new(name).unwrap());
        let (device, push) = (device(name), push_id(push));
        scene.ask(Command::Clicked { app: app(), device, push, action }).unwrap();
    }
    scene.send(NewPush { when: When::At(NOON.after(HOUR)), ..to_all(7) }).unwrap();
    scene
        .ask(Command::Edit {
            push: Box::new(NewPush { when: When::At(NOON.after(HOUR)), ..to_tag(7, "vip") }),
        })
        .unwrap();
    scene.send(NewPush { when: When::Local(Civil((NOON.0 / 1_000) as i64)), ..to_all(8) }).unwrap();
    scene.send(to_all(9)).unwrap();
    scene.ask(Command::Cancel { app: app(), push: push_id(9) }).unwrap();
    for (name, zone, missed) in
        [("hourly", Zone::Named("UTC".into()), Missed::Late(HOUR)), ("local", Zone::Local, Missed::Skip)]
    {
        let name = ScheduleName::new(name).unwrap();
        let schedule = NewSchedule { name, cron: "0 * * * *".into(), zone, missed, push: to_all(77) };
        scene.ask(Command::Schedule { schedule: Box::new(schedule) }).unwrap();
    }
    let name = ScheduleName::new("local").unwrap();
    scene.ask(Command::PauseSchedule { app: app(), name: name.clone(), held: Held::Paused }).unwrap();
    scene.ask(Command::Unschedule { app: app(), name }).unwrap();
    scene.ask(Command::Remove { app: app(), devices: vec![device("phone-3")] }).unwrap();
    scene.wait(3 * HOUR);
    // Nobody looks at the clock for a while.
    scene.now = scene.now.after(5 * HOUR);
    scene.wait(1_000);
    let shop = stadium_registry::AppName::new("shop").unwrap();
    let settings = stadium_push::AppSettings::default();
    scene.ask(Command::DeclareApp { app: shop.clone(), settings }).unwrap();
    scene.pass_messages();
    scene.ask(Command::DropApp { app: shop }).unwrap();
    let name = ScheduleName::new("hourly").unwrap();
    scene.ask(Command::PauseSchedule { app: app(), name, held: Held::Paused }).unwrap();
    scene.wait(7 * 24 * HOUR);
    scene.send(to_all(10)).unwrap();
    scene.send(to_one(13, "phone-1")).unwrap();
    scene.answer_all(Happened::Sent);
    // These are remembered at the end, and so in the checkpoint.
    for (name, push) in [("phone-0", 10), ("phone-1", 10), ("phone-1", 13)] {
        let (device, push, action) = (device(name), push_id(push), ClickAction::new("buy").ok());
        scene.ask(Command::Clicked { app: app(), device, push, action }).unwrap();
    }
    // Two messages are on their way when their pushes are cancelled; the second one stays there.
    for id in [11, 12] {
        scene.ask(Command::Send { push: Box::new(to_all(id)) }).unwrap();
        scene.ask(Command::Cancel { app: app(), push: push_id(id) }).unwrap();
        if id == 11 {
            scene.pass_messages();
        }
    }
    scene
}

fn written(parts: impl Iterator<Item = (u64, Time, Vec<u8>)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, time, bytes) in parts {
        number(&mut out, at);
        number(&mut out, time.0);
        number(&mut out, bytes.len() as u64);
        out.extend_from_slice(&bytes);
    }
    out
}

fn read(bytes: &[u8]) -> Vec<(u64, Time, Vec<u8>)> {
    let mut input = Reader::new(bytes);
    let mut parts = Vec::new();
    while !input.is_empty() {
        let (at, time) = (input.number().unwrap(), Time(input.number().unwrap()));
        let bytes = input.number().unwrap() as usize;
        parts.push((at, time, input.take(bytes).unwrap().to_vec()));
    }
    parts
}

#[test]
fn files_of_version_1_are_read() {
    read_all(1);
}

#[test]
fn files_of_version_2_are_read() {
    read_all(2);
}

/// Version 2 knew cancelled pushes by their ids and times: push 1 was cancelled before its message
/// came, push 2 in vain, push 3 while its message is on its way.
#[test]
fn cancellations_that_overtook_their_pushes_are_read_as_version_2_meant_them() {
    let home = stadium_push::app_home(&app(), 2);
    let mut platforms = Vec::new();
    for shard in 0..2 {
        let records = read(&std::fs::read(file(2, &format!("overtaken-{shard}-records"))).unwrap());
        let chunks = read(&std::fs::read(file(2, &format!("overtaken-{shard}-checkpoint"))).unwrap());
        let now = chunks[0].1;
        let place = Place { shard, shards: 2, hash_seed: 1 };
        let mut replayed = Platform::new(place, Bounds::default());
        for (at, time, events) in &records {
            replayed.apply(*at, *time, 0, events).unwrap();
        }
        let chunks: Vec<_> = chunks.into_iter().map(|(_, _, chunk)| chunk).collect();
        let mut platform = restored(&chunks, &Bounds::default(), shard.into(), 2);
        let shown = show(&mut platform, now);
        assert_eq!(show(&mut replayed, now), shown, "shard {shard}");
        platforms.extend([(shard, replayed), (shard, platform)]);
    }
    let mut messages = Vec::new();
    let at_home = platforms.iter().find(|(shard, _)| *shard == home).map(|(_, platform)| platform).unwrap();
    at_home.outgoing(0, &mut |_, _| None, &mut |_, number, message| messages.push((number, message)));
    assert_eq!(messages.len(), 1, "that of push 3");
    for (_, platform) in platforms.iter_mut().filter(|(shard, _)| *shard != home) {
        let mut record = Record::new();
        record.begin(0);
        let (number, message) = &messages[0];
        let (number, message) = (*number, message.clone());
        let delivery = Delivery { shard: home, number, confirmed_below: number, message };
        platform.receive(0, NOON.after(HOUR), &delivery, &mut record).unwrap();
        let known = |id| {
            let command = Command::Push { app: app(), push: push_id(id) };
            matches!(platform.read(NOON, &command).map(in_memory), Ok(Answer::Push(Some(_))))
        };
        assert_eq!([1, 2, 3].map(known), [false, true, false]);
    }
}

#[test]
fn files_of_version_3_are_read() {
    read_all(3);
}

#[test]
fn files_of_version_4_are_read() {
    read_all(4);
}

#[test]
fn files_of_version_5_are_read() {
    if std::env::var_os("STADIUM_WRITE_FIXTURE").is_some() {
        let mut scene = test();
        std::fs::create_dir_all(file(5, "")).unwrap();
        let now = scene.now;
        for shard in 0..2 {
            let records = written(scene.records[shard].iter().cloned());
            std::fs::write(file(5, &format!("shard-{shard}-records")), records).unwrap();
            let chunks = checkpoint(&mut scene.shards[shard]);
            let chunks = written(chunks.into_iter().map(|chunk| (0, now, chunk)));
            std::fs::write(file(5, &format!("shard-{shard}-checkpoint")), chunks).unwrap();
        }
    }
    read_all(5);
}

/// The connections over which the last pushes were sent that are remembered.
fn connections(platform: &mut Platform, now: Time) -> Vec<ConnectionName> {
    let mut connections = Vec::new();
    for (push, name) in [(10, "phone-0"), (10, "phone-1"), (10, "phone-2"), (13, "phone-1")] {
        let command = Command::Trace { app: app(), push: push_id(push), device: device(name) };
        if let Ok(Answer::Trace(trace)) = platform.read(now, &command).map(in_memory) {
            connections.extend(trace.steps.iter().filter_map(|step| step.connection));
        }
    }
    connections
}

fn read_all(version: u8) {
    let mut all = Vec::new();
    for shard in 0..2 {
        let records = read(&std::fs::read(file(version, &format!("shard-{shard}-records"))).unwrap());
        let chunks = read(&std::fs::read(file(version, &format!("shard-{shard}-checkpoint"))).unwrap());
        let now = chunks[0].1;
        let place = Place { shard, shards: 2, hash_seed: 1 };
        let mut platform = Platform::new(place, Bounds::default());
        for (at, time, events) in &records {
            platform.apply(*at, *time, 0, events).unwrap();
        }
        let shown = show(&mut platform, now);
        assert!(version < 4 || shown.contains("clicked: 1"), "a click is in both");
        for (push, what) in [(10, "targeted: "), (77, "ScheduleName(\"hourly\")")] {
            let id = format!("PushId({})", push_id(push).0);
            let hourly = push == 77;
            assert!(
                shown.lines().any(|line| (hourly || line.contains(&id)) && line.contains(what)),
                "{id} {what}"
            );
        }
        let over = connections(&mut platform, now);
        let chunks: Vec<_> = chunks.into_iter().map(|(_, _, chunk)| chunk).collect();
        let mut platform = restored(&chunks, &Bounds::default(), shard.into(), 2);
        assert_eq!(show(&mut platform, now), shown, "the checkpoint of shard {shard}");
        assert_eq!(connections(&mut platform, now), over, "the checkpoint of shard {shard}");
        all.extend(over.iter().map(ToString::to_string));
    }
    all.sort_unstable();
    let expected: &[&str] = if version < 5 { &[] } else { &["1:3", "4294967295:1:1", "7:0:2", "7:0:2"] };
    assert_eq!(all, expected);
}

#[test]
fn every_event_of_the_fixtures_is_described_without_its_words() {
    let mut words = String::new();
    for (version, shard) in (1..=5).flat_map(|version| [(version, 0), (version, 1)]) {
        for (at, time, events) in
            read(&std::fs::read(file(version, &format!("shard-{shard}-records"))).unwrap())
        {
            let mut described = Vec::new();
            let section = Section { shard, at, time, offset: 0, events: &events };
            Platform::describe(section, &mut described).unwrap();
            described.iter().for_each(|one| words.extend([one.text.as_str(), "\n"]));
        }
    }
    for part in [
        "device phone-0: changed: opted in",
        "changed: quiet hours",
        "audience best: tag \"vip\"",
        "push accepted",
        "acknowledged at",
        "clicked (\"buy\") at",
        "schedule local paused, next at",
        "will start nothing",
        "start push accepted at",
    ] {
        assert!(words.contains(part), "{part:?} in {words}");
    }
    assert!(!words.contains("hello"), "the words of a notification are not shown");
}
