//! The devices that a push reaches, its text for each of them, and refusals.
//!
//! Also what devices and apps are: registered, revoked, apart from each other.

use stadium_push::{
    Accepted, Answer, AppSettings, Audience, AudienceName, Authenticated, Bounds, Command, Content, NewPush,
    Notification, Options, State, When, Words,
};
use stadium_registry::{AttributeName, Changes, Language, Selector, Value};

use crate::platform::scene::{HOUR, NOON, Scene, app, device, push, push_id, to_all, to_one, to_tag};

#[test]
fn each_matched_device_stands_in_one_place() {
    let mut scene = Scene::new(1);
    for number in 0..200 {
        let name = format!("d{number}");
        scene.change(&name, Changes { opt_in: Some(number % 10 != 0), ..Changes::default() });
        if number % 2 == 0 {
            scene.tag(&name, "even");
        }
    }
    let options = Options { holdout: 20, ..Options::default() };
    scene.send(NewPush { options, ..to_tag(1, "even") }).unwrap();
    let counts = scene.counts(1);
    assert_eq!((counts.devices, counts.matched, counts.opted_out), (200, 100, 20));
    assert!((5..=30).contains(&counts.held_out), "{counts:?}");
    assert_eq!(counts.targeted, 80 - counts.held_out);
    assert_eq!(counts.owed, counts.targeted);
    scene.check();
}

#[test]
fn words_are_each_devices_own() {
    let mut scene = Scene::new(1);
    let name = |text: &str| vec![(AttributeName::new("name").unwrap(), Some(Value::Text(text.into())))];
    scene.change("a", Changes { attributes: name("Eva"), ..Changes::default() });
    let language = Some(Some(Language::new("de-AT").unwrap()));
    scene.change("b", Changes { attributes: name("Ole"), language, ..Changes::default() });
    scene.register(&["c"]);
    for device in ["a", "b", "c"] {
        scene.connect(device);
    }
    let words = |title: &str| Words { title: Some(title.into()), body: None, data: None };
    let notification = |title: &str, german: &str| {
        let languages = vec![("de".into(), words(german))];
        Content::Notification(Box::new(Notification {
            words: words(title),
            languages,
            ..Notification::default()
        }))
    };
    let content = notification("hello {{name}}", "hallo {{name|du}}");
    scene.send(NewPush { content, ..to_all(1) }).unwrap();
    let id = push_id(1);
    let mut sent = scene.take_sent();
    sent.sort();
    assert_eq!(
        sent,
        [
            ("a".to_owned(), format!(r#"{{"push":"{id}","title":"hello Eva"}}"#)),
            ("b".to_owned(), format!(r#"{{"push":"{id}","title":"hallo Ole"}}"#)),
        ]
    );
    assert_eq!(scene.counts(1).no_value, 1);
    assert_eq!(scene.trace(1, "c").state, State::NoValue("name".into()));
    scene.change("c", Changes { attributes: name("Pia"), ..Changes::default() });
    assert_eq!(scene.trace(1, "c").state, State::NoValue("name".into()), "it has one too late");
    scene.change(
        "c",
        Changes { attributes: vec![(AttributeName::new("name").unwrap(), None)], ..Changes::default() },
    );
    // Without values, all who get the same words get the same bytes.
    let content = notification("hello", "hallo");
    scene.send(NewPush { content, ..to_all(2) }).unwrap();
    let payloads: std::collections::BTreeSet<_> =
        scene.sent.iter().map(|(_, sent)| sent.payload.clone()).collect();
    assert_eq!(payloads.len(), 2);
    assert!(scene.sent.iter().all(|(_, sent)| sent.content_type.as_deref() == Some("application/json")));
    scene.check();
}

#[test]
fn a_saved_audience_is_what_it_is_when_the_push_starts() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b"]);
    scene.tag("a", "vip");
    let name = AudienceName::new("best").unwrap();
    let saved = push(1, Audience::Saved(name.clone()));
    let refused = scene.send(saved.clone()).unwrap_err();
    assert_eq!(refused.code(), "PSH-023");
    let audience = Selector::Tag("vip".parse().unwrap());
    scene.ask(Command::SaveAudience { app: app(), name: name.clone(), audience }).unwrap();
    scene.send(NewPush { when: When::At(NOON.after(HOUR)), ..saved.clone() }).unwrap();
    scene.ask(Command::SaveAudience { app: app(), name: name.clone(), audience: Selector::All }).unwrap();
    scene.wait(HOUR + 1);
    assert_eq!(scene.counts(1).targeted, 2);
    scene.ask(Command::DropAudience { app: app(), name }).unwrap();
    assert_eq!(scene.trace(1, "b").state, State::Owed);
    scene.check();
}

#[test]
fn the_same_push_again_gets_the_first_answer_and_another_one_is_refused() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    for push in [to_one(1, "a"), to_all(2)] {
        assert_eq!(scene.send(push.clone()), Ok(Answer::Accepted(Accepted::Now)));
        assert_eq!(scene.send(push.clone()), Ok(Answer::Accepted(Accepted::Before)));
        let options = Options { priority: 7, ..Options::default() };
        assert_eq!(scene.send(NewPush { options, ..push }).unwrap_err().code(), "PSH-025");
    }
    assert_eq!(scene.inbox("a"), [1, 2]);
    scene.check();
}

#[test]
fn a_push_that_has_not_started_can_be_changed() {
    let mut scene = Scene::new(1);
    scene.register(&["a", "b"]);
    scene.tag("b", "vip");
    let at = |push: NewPush, hours: u64| NewPush { when: When::At(NOON.after(hours * HOUR)), ..push };
    scene.send(at(to_all(1), 1)).unwrap();
    scene.send(at(to_one(2, "a"), 1)).unwrap();
    scene.ask(Command::Edit { push: Box::new(at(to_tag(1, "vip"), 2)) }).unwrap();
    scene.ask(Command::Edit { push: Box::new(to_one(2, "a")) }).unwrap();
    assert_eq!(scene.inbox("a"), [2]);
    let started = scene.ask(Command::Edit { push: Box::new(to_one(2, "a")) }).unwrap_err();
    assert_eq!(started.code(), "PSH-026");
    let moved = scene.ask(Command::Edit { push: Box::new(to_one(1, "a")) }).unwrap_err();
    assert!(["PSH-005", "PSH-021"].contains(&moved.code()), "{moved}");
    scene.wait(HOUR + 1);
    assert!(scene.inbox("b").is_empty());
    scene.wait(HOUR);
    assert_eq!((scene.inbox("a"), scene.inbox("b")), (vec![2], vec![1]));
    scene.check();
}

#[test]
fn a_push_out_of_bounds_is_refused_and_nothing_happens() {
    let mut scene = Scene::new(1);
    let raw = |bytes: usize| Content::Raw {
        payload: vec![b'x'; bytes].into(),
        content_type: None,
        properties: vec![],
    };
    let words = |title: &str, data: Option<&str>| {
        let words = Words { title: Some(title.into()), body: None, data: data.map(Into::into) };
        Content::Notification(Box::new(Notification { words, ..Notification::default() }))
    };
    let option = |change: fn(&mut Options)| {
        let mut push = to_all(1);
        change(&mut push.options);
        push
    };
    let content = |content: Content| NewPush { content, ..to_all(1) };
    for (push, code) in [
        (content(raw(65_537)), "PSH-003"),
        (content(words("{{x", None)), "PSH-004"),
        (content(words("x", Some("{"))), "PSH-003"),
        (content(Content::Notification(Box::default())), "PSH-003"),
        (option(|options| options.priority = 10), "PSH-005"),
        (option(|options| options.qos = 2), "PSH-005"),
        (option(|options| options.holdout = 91), "PSH-005"),
        (option(|options| options.expiry = Some(0)), "PSH-005"),
        (option(|options| options.pace = stadium_push::Pace::PerSecond(0)), "PSH-005"),
        (NewPush { when: When::At(NOON.after(400 * 24 * HOUR)), ..to_all(1) }, "PSH-008"),
        (NewPush { app: stadium_registry::AppName::new("other").unwrap(), ..to_all(1) }, "PSH-020"),
    ] {
        let asked = scene.ask(Command::Check { push: Box::new(push.clone()) }).unwrap_err();
        assert_eq!(asked.code(), code);
        assert_eq!(scene.send(push).unwrap_err(), asked);
    }
    assert!(scene.records[0].is_empty());
    scene.check();
}

#[test]
fn a_push_may_be_as_large_as_the_bounds_and_no_larger() {
    let mut scene = Scene::new(1);
    let payload_bytes_max = Bounds::default().payload_bytes_max as usize;
    let text = |bytes: usize| "x".repeat(bytes);
    let raw = |payload: usize, properties: usize, name: usize, value: usize, content_type: usize| {
        let property = (text(name).into(), text(value).into());
        Content::Raw {
            payload: vec![b'x'; payload].into(),
            content_type: Some(text(content_type).into()),
            properties: vec![property; properties],
        }
    };
    let title = |bytes: usize| Words { title: Some(text(bytes)), ..Words::default() };
    let notification = |words: Words, platforms: Vec<(String, Words)>, languages: usize| {
        let language = |number: usize| (format!("l{number}").into(), title(1));
        Content::Notification(Box::new(Notification {
            words,
            platforms: platforms.into_iter().map(|(name, words)| (name.into(), words)).collect(),
            languages: (0..languages).map(language).collect(),
        }))
    };
    let platforms = |count: usize| (0..count).map(|number| (format!("p{number}"), title(1))).collect();
    let named = |name: String, bytes: usize| notification(title(1), vec![(name, title(bytes))], 0);
    // With a name of two bytes each, all variants have four times as many bytes as one device may get.
    let large = |last: usize| {
        let full = |number: usize, bytes: usize| (format!("p{number}"), title(bytes - 2));
        let sizes = [payload_bytes_max, payload_bytes_max, last].into_iter().enumerate();
        notification(title(payload_bytes_max), sizes.map(|(number, bytes)| full(number, bytes)).collect(), 0)
    };
    for (what, content, is_allowed) in [
        ("an empty payload", raw(0, 0, 0, 0, 0), true),
        ("the largest payload", raw(payload_bytes_max, 0, 0, 0, 0), true),
        ("a payload of one byte more", raw(payload_bytes_max + 1, 0, 0, 0, 0), false),
        ("all properties, each of the longest", raw(1, 50, 1_024, 1_024, 1_024), true),
        ("a property more", raw(1, 51, 1, 1, 1), false),
        ("a longer name", raw(1, 1, 1_025, 1, 1), false),
        ("a longer value", raw(1, 1, 1, 1_025, 1), false),
        ("a longer content type", raw(1, 1, 1, 1, 1_025), false),
        ("the longest title", notification(title(payload_bytes_max), vec![], 0), true),
        ("a title of one byte more", notification(title(payload_bytes_max + 1), vec![], 0), false),
        ("a variant of one byte more", named("ios".into(), payload_bytes_max + 1), false),
        ("all variants", notification(title(1), platforms(120), 80), true),
        ("a variant more", notification(title(1), platforms(120), 81), false),
        ("a variant with the longest name", named(text(64), 1), true),
        ("a variant with a longer name", named(text(65), 1), false),
        ("a variant without a name", named(String::new(), 1), false),
        ("variants alone", notification(Words::default(), platforms(1), 0), true),
        ("variants of all bytes", large(payload_bytes_max), true),
        ("variants of one byte more", large(payload_bytes_max + 1), false),
    ] {
        let push = NewPush { content, ..to_all(1) };
        let checked = scene.ask(Command::Check { push: Box::new(push) });
        assert_eq!(
            checked.as_ref().err().map(|refusal| refusal.code()),
            (!is_allowed).then_some("PSH-003"),
            "{what}"
        );
    }
}

#[test]
fn a_full_platform_forgets_what_is_settled_and_refuses_when_nothing_is() {
    let mut scene = Scene::with(1, Bounds { pushes_max: 3, ..Bounds::default() });
    scene.register(&["a"]);
    scene.connect("a");
    for id in 1..=3 {
        scene.send(to_one(id, "a")).unwrap();
    }
    let full = scene.send(to_one(4, "a")).unwrap_err();
    assert_eq!(full.code(), "PSH-041");
    scene.acknowledge_all();
    scene.send(to_one(4, "a")).unwrap();
    assert_eq!(scene.ask(Command::Push { app: app(), push: push_id(1) }), Ok(Answer::Push(None)));
    assert_eq!(scene.view(2).counts.delivered, 1);
    scene.check();
}

#[test]
fn devices_register_when_they_connect_where_the_app_wants_that() {
    let mut scene = Scene::new(1);
    scene.connect("a");
    assert!(scene.inbox("a").is_empty());
    scene.settings(AppSettings { register_at_connect: false, ..AppSettings::default() });
    scene.connect("b");
    let b = scene.ask(Command::Device { app: app(), device: device("b") });
    assert_eq!(b, Ok(Answer::Device(None)));
    scene.settings(AppSettings { opted_in: false, ..AppSettings::default() });
    scene.connect("c");
    scene.send(to_all(1)).unwrap();
    assert_eq!(scene.trace(1, "c").state, State::OptedOut);
    assert_eq!(scene.counts(1).targeted, 1);
    scene.check();
}

#[test]
fn a_device_shows_its_secret_or_is_known_to_others() {
    let mut scene = Scene::new(1);
    scene.register(&["plain", "both"]);
    scene.change("both", Changes { credential: Some(Some([7; 32])), ..Changes::default() });
    scene.change(
        "gone",
        Changes { credential: Some(Some([7; 32])), revoked: Some(true), ..Changes::default() },
    );
    for (name, secret, expected) in [
        ("plain", Some([7; 32]), Authenticated::Unknown),
        ("nobody", None, Authenticated::Unknown),
        ("both", Some([7; 32]), Authenticated::Yes),
        ("both", Some([8; 32]), Authenticated::No),
        ("both", None, Authenticated::No),
        ("gone", Some([7; 32]), Authenticated::Revoked { proved: true }),
        ("gone", Some([8; 32]), Authenticated::Revoked { proved: false }),
        ("gone", None, Authenticated::Revoked { proved: false }),
    ] {
        let answer = scene.ask(Command::Authenticate { app: app(), device: device(name), secret });
        assert_eq!(answer, Ok(Answer::Authenticated(expected)), "{name}");
    }
}

#[test]
fn a_device_and_an_app_cannot_have_one_name() {
    let mut scene = Scene::new(1);
    scene.register(&["before"]);
    for name in ["shop", "before"] {
        let name = stadium_registry::AppName::new(name).unwrap();
        scene.ask(Command::DeclareApp { app: name, settings: AppSettings::default() }).unwrap();
    }
    let changes = |name| Command::Change { app: app(), devices: vec![(device(name), Changes::default())] };
    for name in ["shop", "default"] {
        let answer = scene.ask(changes(name));
        assert_eq!(answer.as_ref().map_err(|refusal| refusal.code()).err(), Some("PSH-031"), "{answer:?}");
    }
    let Ok(Answer::Changed(outcomes)) = scene.ask(changes("before")) else { panic!("an outcome each") };
    assert!(outcomes[0].is_ok(), "a device that was there stays changeable, and removable");
    for name in ["shop", "before", "default"] {
        let authenticate = Command::Authenticate { app: app(), device: device(name), secret: None };
        assert_eq!(scene.ask(authenticate), Ok(Answer::Authenticated(Authenticated::NamedAsApp)), "{name}");
    }
    let other = stadium_registry::AppName::new("shop").unwrap();
    let authenticate = Command::Authenticate { app: other, device: device("shop"), secret: None };
    assert_eq!(scene.ask(authenticate), Ok(Answer::Authenticated(Authenticated::Unknown)), "in its own app");
}

#[test]
fn apps_know_nothing_of_each_other() {
    let mut scene = Scene::new(1);
    let other = stadium_registry::AppName::new("other").unwrap();
    scene.ask(Command::DeclareApp { app: other.clone(), settings: AppSettings::default() }).unwrap();
    scene.register(&["a"]);
    let devices = vec![(device("a"), Changes::default()), (device("b"), Changes::default())];
    scene.ask(Command::Change { app: other.clone(), devices }).unwrap();
    scene.send(NewPush { app: other.clone(), ..to_all(1) }).unwrap();
    scene.send(to_all(1)).unwrap();
    assert_eq!(scene.counts(1).targeted, 1);
    assert_eq!(scene.inbox("a"), [1]);
    scene.check();
    scene.ask(Command::DropApp { app: other.clone() }).unwrap();
    assert_eq!(scene.send(NewPush { app: other, ..to_all(2) }).unwrap_err().code(), "PSH-020");
    assert_eq!(scene.inbox("a"), [1]);
    assert_eq!(scene.ask(Command::DropApp { app: app() }).unwrap_err().code(), "PSH-009");
    scene.check();
}

#[test]
fn an_app_that_is_dropped_takes_its_own_pushes_and_schedules_and_no_other() {
    let mut scene = Scene::new(1);
    let other = stadium_registry::AppName::new("other").unwrap();
    scene.ask(Command::DeclareApp { app: other.clone(), settings: AppSettings::default() }).unwrap();
    scene.register(&["a"]);
    let hourly = |app: &stadium_registry::AppName| {
        let push = NewPush { app: app.clone(), ..to_all(9) };
        Box::new(stadium_push::NewSchedule {
            name: stadium_push::ScheduleName::new("hourly").unwrap(),
            cron: "30 * * * *".into(),
            zone: stadium_push::Zone::Named("UTC".into()),
            missed: stadium_push::Missed::Skip,
            push,
        })
    };
    let later = |push: NewPush| NewPush { when: When::At(NOON.after(2 * HOUR)), ..push };
    for app in [app(), other.clone()] {
        scene.ask(Command::Schedule { schedule: hourly(&app) }).unwrap();
        scene.send(NewPush { app, ..later(to_all(1)) }).unwrap();
    }
    scene.ask(Command::DropApp { app: other }).unwrap();
    scene.wait(2 * HOUR);
    let inbox = scene.inbox("a");
    assert!(inbox.contains(&1) && inbox.len() == 3, "two by the schedule and the one for later: {inbox:?}");
    scene.check();
}

#[test]
fn a_thousand_devices_with_long_names_are_forgotten_by_one_command() {
    let mut scene = Scene::new(1);
    let names: Vec<String> = (0..1_000).map(|number| format!("{number:0>64}")).collect();
    for name in &names {
        scene.change(name, Changes::default());
    }
    let devices = names.iter().map(|name| device(name)).collect();
    scene.ask(Command::Remove { app: app(), devices }).unwrap();
    scene.send(to_all(1)).unwrap();
    assert_eq!(scene.counts(1).devices, 0);
    scene.check();
}

#[test]
fn a_preview_counts_what_a_push_would_reach() {
    let mut scene = Scene::new(1);
    for number in 0..20 {
        let name = format!("d{number:02}");
        scene.change(&name, Changes { opt_in: Some(number % 5 != 0), ..Changes::default() });
        if number < 10 {
            scene.tag(&name, "vip");
        }
    }
    scene.connect("d01");
    let audience = Selector::Tag("vip".parse().unwrap());
    let preview = scene.ask(Command::Preview { app: app(), audience, sample_max: 3, push: None }).unwrap();
    let Answer::Preview(preview) = preview else { panic!("{preview:?}") };
    assert_eq!((preview.devices, preview.matched, preview.opted_out, preview.reached), (20, 10, 2, 8));
    assert_eq!((preview.connected, preview.sample.len()), (1, 3));
    scene.send(to_tag(1, "vip")).unwrap();
    assert_eq!(scene.counts(1).targeted, preview.reached);
}

/// A push of a text that needs the value `name`.
fn needing_name(id: u64, audience: Audience) -> NewPush {
    let words = Words { title: Some("hello {{name}}".into()), body: None, data: None };
    let content = Content::Notification(Box::new(Notification { words, ..Notification::default() }));
    NewPush { content, ..push(id, audience) }
}

fn named(name: &str) -> Changes {
    let attributes = vec![(AttributeName::new("name").unwrap(), Some(Value::Text(name.into())))];
    Changes { attributes, ..Changes::default() }
}

fn preview_of(scene: &mut Scene, push: &NewPush) -> stadium_push::Preview {
    let audience = match &push.audience {
        Audience::Device(device) => Selector::Device(device.clone()),
        Audience::Selector(selector) => selector.clone(),
        Audience::Saved(name) => panic!("{name} is not resolved"),
    };
    let push = Some(Box::new(push.clone()));
    match scene.ask(Command::Preview { app: app(), audience, sample_max: 100, push }).unwrap() {
        Answer::Preview(preview) => *preview,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_preview_of_a_push_counts_those_who_lack_a_value_that_its_texts_need() {
    for shards in [1, 3] {
        let mut scene = Scene::new(shards);
        for number in 0..40 {
            let name = format!("d{number:02}");
            scene.change(&name, if number % 4 == 0 { named("Eva") } else { Changes::default() });
        }
        let push = needing_name(1, Audience::Selector(Selector::All));
        let preview = preview_of(&mut scene, &push);
        assert_eq!((preview.matched, preview.evaluated, preview.no_value, preview.reached), (40, 40, 30, 10));
        let missing: Vec<_> = preview.missing.iter().map(|value| (&*value.name, value.devices)).collect();
        assert_eq!(missing, [("name", 30)]);
        assert!(preview.sample.iter().all(|id| id.as_str()[1..].parse::<u32>().unwrap() % 4 == 0));
        scene.send(push).unwrap();
        let counts = scene.counts(1);
        assert_eq!((counts.targeted, counts.no_value), (preview.reached, preview.no_value));
        // To one device, which is not opted in and gets it all the same; and to one that lacks the value.
        scene.change("d00", Changes { opt_in: Some(false), ..Changes::default() });
        let one = preview_of(&mut scene, &needing_name(2, Audience::Device(device("d00"))));
        assert_eq!((one.matched, one.opted_out, one.reached), (1, 0, 1));
        let one = preview_of(&mut scene, &needing_name(3, Audience::Device(device("d01"))));
        assert_eq!((one.matched, one.no_value, one.reached), (1, 1, 0));
        let none = preview_of(&mut scene, &needing_name(4, Audience::Device(device("nobody"))));
        assert_eq!((none.matched, none.reached), (0, 0));
    }
}

#[test]
fn a_preview_of_a_push_leaves_out_whom_its_options_leave_out() {
    use stadium_push::{Cap, QuietHours};
    let skips = QuietHours::Skip;
    let cap = Some(Cap { pushes: 1, within: HOUR });
    let options = [
        Options { holdout: 40, ..Options::default() },
        Options { cap, ..Options::default() },
        Options { quiet_hours: skips, ..Options::default() },
        Options { quiet_hours: QuietHours::Ignore, ..Options::default() },
        Options { qos: 0, ..Options::default() },
        Options { holdout: 20, cap, quiet_hours: skips, ..Options::default() },
    ];
    for (at, options) in options.into_iter().enumerate() {
        let mut scene = Scene::new(1);
        // It is noon.
        let quiet = stadium_registry::QuietHours::new(11 * 60, 13 * 60);
        for number in 0..60 {
            let mut changes = if number % 3 == 0 { Changes::default() } else { named("Eva") };
            changes.opt_in = Some(number % 10 != 0);
            changes.quiet_hours = (number % 4 == 0).then_some(quiet);
            scene.change(&format!("d{number:02}"), changes);
        }
        scene.tag("d01", "had");
        scene.tag("d02", "had");
        scene.send(to_tag(9, "had")).unwrap();
        let push = NewPush { options, ..needing_name(1, Audience::Selector(Selector::All)) };
        let preview = preview_of(&mut scene, &push);
        scene.send(push).unwrap();
        let counts = scene.counts(1);
        assert_eq!(preview.reached, counts.targeted, "options {at}: {preview:?} {counts:?}");
        assert_eq!(
            (preview.opted_out, preview.held_out, preview.no_value, preview.capped),
            (counts.opted_out, counts.held_out, counts.no_value, counts.capped),
            "options {at}"
        );
        assert!(preview.no_value > 0 && preview.quiet > 0, "options {at}: {preview:?}");
    }
}

#[test]
fn a_preview_of_a_push_to_very_many_evaluates_a_sample_and_reports_it() {
    let mut scene = Scene::new(1);
    let devices = 30_000_u64;
    for part in 0..devices / 1_000 {
        // Every fifth has a name.
        let change = |number: u64| if number.is_multiple_of(5) { named("Eva") } else { Changes::default() };
        let part = part * 1_000..(part + 1) * 1_000;
        let devices = part.map(|number| (device(&format!("d{number}")), change(number))).collect();
        scene.ask(Command::Change { app: app(), devices }).unwrap();
    }
    let preview = preview_of(&mut scene, &needing_name(1, Audience::Selector(Selector::All)));
    assert_eq!((preview.devices, preview.matched), (devices, devices));
    let most = stadium_push::Platform::PREVIEW_EVALUATED_MAX;
    assert!((most * 9 / 10..=most * 11 / 10).contains(&preview.evaluated), "{preview:?}");
    assert!(preview.reached.abs_diff(devices / 5) < devices / 50, "{preview:?}");
    assert_eq!(preview.reached + preview.no_value, devices);
    // Words that need nothing are counted exactly, however many devices there are.
    let preview = preview_of(&mut scene, &to_all(2));
    assert_eq!((preview.evaluated, preview.reached), (devices, devices));
}

#[test]
fn feeds_get_events_and_a_replay_sends_none() {
    use stadium_push::feed::{Feed, FeedName, Kind, Kinds, Webhook};
    let mut scene = Scene::new(1);
    let url = format!("https://example.com/{}", "x".repeat(400));
    let feeds = (0..16).map(|number| Feed {
        name: FeedName::new(&format!("feed-{number}")).unwrap(),
        kinds: match number {
            0 => Kinds::of(Kind::ALL),
            _ => Kinds::of([Kind::Disconnected, Kind::Message]),
        },
        topics: vec!["up/#".to_owned()],
        webhook: Some(Webhook { url: url.clone(), secret: vec![7; 32] }),
    });
    scene.settings(AppSettings { feeds: feeds.collect(), ..AppSettings::default() });
    scene.connect("a");
    scene.register(&["b"]);
    let options = Options { expiry: Some(HOUR), ..Options::default() };
    scene.send(NewPush { options, ..to_all(1) }).unwrap();
    scene.acknowledge_all();
    let action = stadium_push::ClickAction::new("buy \"now\"").ok();
    let click = Command::Clicked { app: app(), device: device("a"), push: push_id(1), action };
    for _ in 0..2 {
        scene.ask(click.clone()).unwrap();
    }
    scene.wait(2 * HOUR);
    let mut jobs = Vec::new();
    scene.shards[0].take_events(&mut jobs);
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0].queue, "events.default.feed-0");
    let events: serde_json::Value = serde_json::from_slice(&jobs[0].payload).unwrap();
    let events = events["events"].as_array().unwrap().iter();
    assert_eq!(events.clone().nth(3).unwrap()["action"], "buy \"now\"");
    let events: Vec<_> =
        events.map(|event| (event["kind"].as_str().unwrap(), event["device"].as_str().unwrap())).collect();
    let expected =
        [("connected", "a"), ("delivered", "a"), ("opened", "a"), ("clicked", "a"), ("expired", "b")];
    assert_eq!(events, expected);
    jobs.clear();
    scene.replayed(0).take_events(&mut jobs);
    assert!(jobs.is_empty());
    scene.check();
}

#[test]
fn figures_add_up() {
    let mut scene = Scene::new(1);
    for name in ["a", "b", "c"] {
        scene.register(&[name]);
        scene.connect(name);
    }
    scene.disconnect("c");
    scene.send(to_all(1)).unwrap();
    scene.send(to_one(2, "a")).unwrap();
    scene.send(NewPush { when: When::At(NOON.after(HOUR)), ..to_all(3) }).unwrap();
    let figures = scene.shards[0].figures();
    assert_eq!((figures.devices, figures.connected, figures.owed, figures.in_flight), (3, 2, 4, 3));
    assert_eq!((figures.pushes_scheduled, figures.pushes_sending, figures.pushes_settled), (1, 2, 0));
    scene.acknowledge_all();
    scene.disconnect("a");
    scene.disconnect("b");
    let figures = scene.shards[0].figures();
    assert_eq!((figures.owed, figures.in_flight, figures.dispatched, figures.acknowledged), (1, 0, 3, 3));
    assert_eq!((figures.accepted, figures.targeted, figures.pushes_settled), (3, 4, 1));
}
