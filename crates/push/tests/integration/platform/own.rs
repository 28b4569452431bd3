//! A device asks for itself: opened, its tags and attributes, opted in or out.

use stadium_push::{Answer, AppSettings, Command, DeviceWritable, Happened, OwnRequest, Refusal};
use stadium_registry::{Changes, Device};

use crate::platform::scene::{Scene, app, device, push_id, to_one};

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
