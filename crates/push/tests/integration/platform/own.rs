//! A device asks for itself: opened, clicked, its inbox, its tags and attributes, opted in or out.
//!
//! Whatever was done is the same after a replay and in a checkpoint: [`Scene::check`].

use stadium_push::{
    Answer, AppSettings, Audience, ClickAction, Command, Content, DeviceWritable, Happened, InboxPage,
    NewPush, Options, OwnRequest, PushId, Refusal, State,
};
use stadium_registry::{Changes, Device};

use crate::platform::scene::{HOUR, Scene, app, device, push_id, to_all, to_one};

fn own(scene: &mut Scene, name: &str, request: OwnRequest) -> Result<Answer, Refusal> {
    scene.ask(Command::Own { app: app(), device: device(name), request })
}

fn change(json: &str) -> OwnRequest {
    OwnRequest::change(json.as_bytes()).unwrap()
}

fn code(refused: Result<Answer, Refusal>) -> &'static str {
    refused.unwrap_err().code()
}

fn known(scene: &mut Scene, name: &str) -> Device {
    match scene.ask(Command::Device { app: app(), device: device(name) }) {
        Ok(Answer::Device(Some(view))) => view.device.clone(),
        other => panic!("{other:?}"),
    }
}

fn lets_devices_write(scene: &mut Scene) {
    let device_writable = DeviceWritable { tags: vec!["news-*".into()], attributes: vec!["language".into()] };
    scene.settings(AppSettings { device_writable, ..AppSettings::default() });
}

#[test]
fn a_device_reports_its_own_pushes_as_opened_and_no_others() {
    let mut scene = Scene::new(2);
    scene.register(&["a", "b"]);
    scene.connect("a");
    scene.send(to_one(1, "a")).unwrap();
    scene.answer_all(Happened::Acknowledged);

    assert_eq!(code(own(&mut scene, "b", OwnRequest::Opened(push_id(1)))), "PSH-028");
    assert_eq!(code(own(&mut scene, "a", OwnRequest::Opened(push_id(9)))), "PSH-021");
    assert_eq!(scene.counts(1).opened, 0);

    for _ in 0..2 {
        assert_eq!(own(&mut scene, "a", OwnRequest::Opened(push_id(1))), Ok(Answer::Done));
    }
    assert_eq!(scene.counts(1).opened, 1);
    scene.check();
}

fn click(action: Option<&str>) -> OwnRequest {
    OwnRequest::Clicked(push_id(1), action.map(|name| ClickAction::new(name).unwrap()))
}

#[test]
fn the_first_click_of_a_device_counts_and_opens() {
    for push in [to_one(1, "a"), to_all(1)] {
        let is_single = matches!(push.audience, Audience::Device(_));
        let mut scene = Scene::new(2);
        scene.register(&["a", "b", "stranger"]);
        scene.change("stranger", Changes { opt_in: Some(false), ..Changes::default() });
        scene.connect("a");
        scene.connect("b");
        scene.send(push).unwrap();
        scene.answer_all(Happened::Acknowledged);
        for (name, code_of) in [("stranger", "PSH-028"), ("nobody", "PSH-022")] {
            assert_eq!(code(own(&mut scene, name, click(Some("buy")))), code_of);
        }
        assert_eq!((scene.counts(1).opened, scene.counts(1).clicked), (0, 0));

        let at = scene.now;
        for action in [Some("buy"), None, Some("later")] {
            assert_eq!(own(&mut scene, "a", click(action)), Ok(Answer::Done));
        }
        assert_eq!(own(&mut scene, "a", OwnRequest::Opened(push_id(1))), Ok(Answer::Done));
        if !is_single {
            own(&mut scene, "b", OwnRequest::Opened(push_id(1))).unwrap();
            own(&mut scene, "b", click(None)).unwrap();
        }
        let devices = if is_single { 1 } else { 2 };
        let view = scene.view(1);
        assert_eq!((view.counts.opened, view.counts.clicked), (devices, devices));
        let clicked: u64 = view.series.iter().map(|sample| u64::from(sample.clicked)).sum();
        assert_eq!((clicked, view.actions), (devices, vec![(ClickAction::new("buy").unwrap(), 1)]));
        let trace = scene.trace(1, "a");
        assert_eq!(trace.state, State::Clicked);
        let steps: Vec<_> = trace.steps.iter().map(|step| (step.what, step.at >= at)).collect();
        assert_eq!(steps[steps.len() - 2..], [("opened", true), ("clicked", true)]);
        assert_eq!(trace.steps.last().unwrap().action, ClickAction::new("buy").ok());
        assert!(trace.sentence.contains("; buy was clicked at "), "{}", trace.sentence);
        scene.check();
    }
}

#[test]
fn a_push_counts_sixteen_actions_by_name_and_all_clicks() {
    let mut scene = Scene::new(1);
    let names: Vec<String> = (0..20).map(|number| format!("d{number:02}")).collect();
    scene.register(&names.iter().map(String::as_str).collect::<Vec<_>>());
    scene.send(to_all(1)).unwrap();
    for name in &names {
        own(&mut scene, name, click(Some(name))).unwrap();
    }
    let view = scene.view(1);
    assert_eq!((view.counts.clicked, view.counts.delivered, view.actions.len()), (20, 20, 16));
    assert_eq!(scene.trace(1, "d15").steps.last().unwrap().action, ClickAction::new("d15").ok());
    assert_eq!(scene.trace(1, "d16").steps.last().unwrap().action, None);
    scene.check();
}

#[test]
fn a_click_on_a_push_that_is_gone_is_refused() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    scene.send(to_one(1, "a")).unwrap();
    scene.ask(Command::Cancel { app: app(), push: push_id(1) }).unwrap();
    assert_eq!(code(own(&mut scene, "a", click(None))), "PSH-028", "it was cancelled");
    scene.wait(8 * 24 * HOUR);
    assert_eq!(code(own(&mut scene, "a", click(None))), "PSH-021", "it is forgotten");
    scene.check();
}

fn ids(pushes: &[u64]) -> Vec<PushId> {
    pushes.iter().map(|&id| push_id(id)).collect()
}

fn settle(scene: &mut Scene, name: &str, pushes: &[u64]) -> Vec<bool> {
    match own(scene, name, OwnRequest::Settle(ids(pushes))) {
        Ok(Answer::Settled(settled)) => settled,
        other => panic!("{other:?}"),
    }
}

fn page(scene: &mut Scene, name: &str, after: Option<u64>, most: u32) -> Result<InboxPage, Refusal> {
    let (device, after) = (device(name), after.map(push_id));
    match scene.ask(Command::Inbox { app: app(), device, after, pushes_max: most })? {
        Answer::Inbox(page) => Ok(page),
        other => panic!("{other:?}"),
    }
}

fn shown(page: &InboxPage) -> Vec<PushId> {
    page.messages.iter().map(|message| message.owed.push).collect()
}

/// Pushes to `a` of three priorities, to it alone and to all; 4 waits for the end of its quiet
/// hours.
fn owed() -> Scene {
    let mut scene = Scene::new(2);
    scene.register(&["a", "b"]);
    let urgent = |push: NewPush| NewPush { options: Options { priority: 9, ..push.options.clone() }, ..push };
    let late = |push: NewPush| NewPush { options: Options { priority: 1, ..push.options.clone() }, ..push };
    for push in [to_one(1, "a"), to_all(2), urgent(to_all(3))] {
        scene.send(push).unwrap();
    }
    let quiet = stadium_registry::QuietHours::new(11 * 60, 13 * 60);
    scene.change("a", Changes { quiet_hours: Some(quiet), ..Changes::default() });
    scene.send(late(to_one(4, "a"))).unwrap();
    scene
}

#[test]
fn a_device_reads_its_inbox_page_by_page_in_the_order_of_delivery() {
    let mut scene = owed();
    scene.send(to_one(5, "b")).unwrap();
    let whole = page(&mut scene, "a", None, 100).unwrap();
    let first = page(&mut scene, "a", None, 1).unwrap();
    assert_eq!((shown(&first), first.more), (ids(&[3]), true));
    let mut behind = Vec::new();
    let mut after = 3;
    loop {
        let next = page(&mut scene, "a", Some(after), 1).unwrap();
        let [message] = &*next.messages else { panic!("{next:?}") };
        after = (message.owed.push.0 >> 64) as u64;
        behind.push(message.owed.push);
        // The page that follows is found by a push that was settled, too.
        assert_eq!(settle(&mut scene, "a", &[after]), [true]);
        if !next.more {
            break;
        }
    }
    assert_eq!((shown(&whole)[1..].to_vec(), whole.more), (behind, false));
    assert_eq!(shown(&whole).last(), Some(&push_id(4)), "the lowest priority is last");
    let State::Delivered = scene.trace(4, "a").state else { panic!("it waited, and was settled") };
    let payload = String::from_utf8(whole.messages[0].payload.to_vec()).unwrap();
    assert!(!payload.is_empty() && whole.messages.iter().all(|message| message.owed.until.is_some()));
    for (name, after, most, code_of) in [
        ("a", Some(5), 1, "PSH-021"),
        ("a", Some(77), 1, "PSH-021"),
        ("a", None, 0, "PSH-001"),
        ("a", None, 101, "PSH-001"),
        ("nobody", None, 1, "PSH-022"),
    ] {
        let refused = page(&mut scene, name, after, most).unwrap_err();
        assert_eq!(refused.code(), code_of, "{name} {after:?} {most}");
    }
    scene.change("a", Changes { revoked: Some(true), ..Changes::default() });
    assert_eq!(page(&mut scene, "a", None, 1).unwrap_err().code(), "PSH-032");
    assert_eq!(code(own(&mut scene, "a", OwnRequest::Settle(ids(&[3])))), "PSH-032");
    scene.check();
}

#[test]
fn a_page_ends_behind_a_megabyte_of_messages() {
    let mut scene = Scene::new(1);
    scene.register(&["a"]);
    for id in 1..=20 {
        let content =
            Content::Raw { payload: vec![b'x'; 60 << 10].into(), content_type: None, properties: Vec::new() };
        scene.send(NewPush { content, ..to_one(id, "a") }).unwrap();
    }
    let first = page(&mut scene, "a", None, 100).unwrap();
    let all: Vec<u64> = (1..=20).collect();
    assert_eq!((shown(&first), first.more), (ids(&all[..18]), true));
    let last = page(&mut scene, "a", Some(18), 100).unwrap();
    assert_eq!((shown(&last), last.more), (ids(&all[18..]), false));
}

#[test]
fn a_push_that_is_settled_counts_as_delivered_and_is_not_sent() {
    let mut scene = owed();
    scene.send(to_one(5, "b")).unwrap();
    assert_eq!(settle(&mut scene, "a", &[1, 3, 5, 77, 1]), [true, true, false, false, true]);
    assert_eq!(settle(&mut scene, "a", &[1, 3]), [false, false], "again changes nothing");
    for (id, owed) in [(1, 0), (3, 1)] {
        let counts = scene.counts(id);
        assert_eq!((counts.delivered, counts.owed), (1, owed), "push {id}");
        let trace = scene.trace(id, "a");
        assert_eq!(trace.state, State::Delivered);
        assert_eq!(trace.steps.last().unwrap().what, "acknowledged");
    }
    assert_eq!(scene.counts(5).delivered, 0);
    scene.restart();
    scene.connect("a");
    let sent = scene.take_sent().into_iter().filter(|(to, _)| to == "a").count();
    assert_eq!(sent, 1, "push 2 alone: 4 waits");
    // It is on its way, and settled meanwhile: what the edge reports of it changes nothing.
    assert_eq!(settle(&mut scene, "a", &[2]), [true]);
    scene.answer_all(Happened::Returned);
    assert_eq!(scene.trace(2, "a").state, State::Delivered);
    assert!(scene.take_sent().is_empty());
    for pushes in [vec![], ids(&[1; 101])] {
        assert_eq!(code(own(&mut scene, "a", OwnRequest::Settle(pushes))), "PSH-001");
    }
    scene.check();
}

#[test]
fn a_device_changes_what_its_app_names_all_or_nothing() {
    let mut scene = Scene::new(2);
    scene.register(&["a"]);
    let both = r#"{"tags": {"add": ["news-local"]}, "attributes": {"language": "de"}, "opted_in": false}"#;
    assert_eq!(code(own(&mut scene, "a", change(both))), "PSH-033", "nothing is writable by default");

    lets_devices_write(&mut scene);
    let mixed = r#"{"tags": {"add": ["news-local", "vip"]}, "opted_in": false}"#;
    assert_eq!(code(own(&mut scene, "a", change(mixed))), "PSH-033");
    let before = known(&mut scene, "a");
    assert!(before.opt_in && before.tags.is_empty());

    own(&mut scene, "a", change(both)).unwrap();
    let after = known(&mut scene, "a");
    assert!(!after.opt_in);
    assert_eq!(after.tags, ["news-local".parse().unwrap()]);
    assert_eq!(after.attributes.len(), 1);
    scene.check();
}

#[test]
fn a_device_that_is_unknown_or_revoked_may_ask_nothing() {
    let mut scene = Scene::new(2);
    lets_devices_write(&mut scene);
    let out = || change(r#"{"opted_in": false}"#);
    assert_eq!(code(own(&mut scene, "a", out())), "PSH-022", "it does not register itself");

    scene.register(&["a"]);
    scene.change("a", Changes { revoked: Some(true), ..Changes::default() });
    assert_eq!(code(own(&mut scene, "a", out())), "PSH-032");
    assert_eq!(code(own(&mut scene, "a", OwnRequest::Opened(push_id(1)))), "PSH-032");
    assert!(known(&mut scene, "a").opt_in);
    scene.check();
}

#[test]
fn patterns_that_are_none_are_no_settings() {
    let mut scene = Scene::new(1);
    let device_writable = DeviceWritable { tags: vec!["a*b".into()], ..DeviceWritable::default() };
    let settings = AppSettings { device_writable, ..AppSettings::default() };
    assert_eq!(code(scene.ask(Command::DeclareApp { app: app(), settings })), "PSH-002");
}
