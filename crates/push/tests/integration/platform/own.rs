//! A device asks for itself: opened, its tags and attributes, opted in or out.

use stadium_push::{
    Answer, AppSettings, Audience, ClickAction, Command, DeviceWritable, Happened, OwnRequest, Refusal, State,
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
