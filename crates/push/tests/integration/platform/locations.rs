//! Devices are seen somewhere, and circles follow them: on several shards, over restarts, once for each news.

use stadium_push::{Answer, Command, Located, Sighting, Time};
use stadium_registry::{AppName, Changes, Circle, Location, Selector};

use crate::platform::scene::{NOON, Scene, app, device};

fn place(latitude: f64) -> Location {
    Location::new(latitude, 13.405).unwrap()
}

fn seen(name: &str, at: Time, latitude: f64, metres_min: u32) -> Sighting {
    Sighting { device: device(name), at, location: place(latitude), metres_min }
}

fn locate(scene: &mut Scene, sightings: Vec<Sighting>) -> Located {
    match scene.ask(Command::Locate { app: app(), sightings }).unwrap() {
        Answer::Located(located) => located,
        other => panic!("{other:?}"),
    }
}

fn within(scene: &mut Scene, latitude: f64, radius_m: u32) -> u64 {
    let audience = Selector::Within(Circle { centre: place(latitude), radius_m });
    let preview = scene.ask(Command::Preview { app: app(), audience, sample_max: 0, push: None }).unwrap();
    let Answer::Preview(preview) = preview else { panic!("{preview:?}") };
    preview.matched
}

#[test]
fn circles_follow_devices_on_all_shards_and_unregistered_devices_are_ignored() {
    let mut scene = Scene::new(3);
    let names: Vec<String> = (0..40).map(|number| format!("phone-{number}")).collect();
    names.iter().for_each(|name| scene.register(&[name]));
    let mut sightings: Vec<Sighting> = names.iter().map(|name| seen(name, NOON, 52.0, 0)).collect();
    sightings.push(seen("stranger", NOON, 52.0, 0));
    let answer = locate(&mut scene, sightings.clone());
    assert_eq!(answer, Located { moved: 40, unknown: 1, ..Located::default() });
    assert_eq!((within(&mut scene, 52.0, 100), within(&mut scene, 53.0, 100)), (40, 0));
    // The same again, as after a reconnect, writes nothing.
    let records = scene.records.clone();
    assert_eq!(locate(&mut scene, sightings), Located { unmoved: 40, unknown: 1, ..Located::default() });
    assert_eq!(scene.records, records);

    let later = NOON.after(1_000);
    let answer =
        locate(&mut scene, vec![seen("phone-1", later, 53.0, 10), seen("phone-2", later, 52.000_05, 10)]);
    assert_eq!(answer, Located { moved: 1, unmoved: 1, ..Located::default() });
    assert_eq!((within(&mut scene, 52.0, 100), within(&mut scene, 53.0, 100)), (39, 1));
    let answer = locate(&mut scene, vec![seen("phone-1", NOON, 52.0, 0)]);
    assert_eq!(answer, Located { older: 1, ..Located::default() });
    scene.restart();
    let answer = locate(&mut scene, vec![seen("phone-1", NOON, 52.0, 0)]);
    assert_eq!(answer, Located { older: 1, ..Located::default() }, "when it was seen is durable");
    assert_eq!((within(&mut scene, 52.0, 100), within(&mut scene, 53.0, 100)), (39, 1));
    scene.check();
}

#[test]
fn of_a_device_twice_in_a_batch_the_newest_counts() {
    let mut scene = Scene::new(1);
    scene.register(&["phone"]);
    let (first, second) = (NOON.after(5), NOON.after(6));
    let answer = locate(
        &mut scene,
        vec![
            seen("phone", second, 53.0, 0),
            seen("phone", first, 52.0, 0),
            seen("phone", second.after(1), 54.0, 0),
        ],
    );
    assert_eq!(answer, Located { moved: 2, older: 1, ..Located::default() });
    assert_eq!((within(&mut scene, 53.0, 10), within(&mut scene, 54.0, 10)), (0, 1));
    scene.check();
}

#[test]
fn a_location_from_the_api_is_not_undone_by_an_earlier_sighting() {
    let mut scene = Scene::new(1);
    scene.change("phone", Changes { location: Some(Some(place(52.0))), ..Changes::default() });
    let before = Time(scene.now.0 - 1);
    assert_eq!(locate(&mut scene, vec![seen("phone", before, 53.0, 0)]).older, 1);
    let after = scene.now.after(1);
    assert_eq!(locate(&mut scene, vec![seen("phone", after, 53.0, 0)]).moved, 1);
    assert_eq!(within(&mut scene, 53.0, 10), 1);
    scene.check();
}

#[test]
fn an_app_that_is_not_there_has_no_devices_and_a_batch_has_a_bound() {
    let mut scene = Scene::new(2);
    let app = AppName::new("nowhere").unwrap();
    let sightings = vec![seen("phone", NOON, 52.0, 0)];
    let answer = scene.ask(Command::Locate { app: app.clone(), sightings: sightings.clone() }).unwrap();
    assert_eq!(answer, Answer::Located(Located { unknown: 1, ..Located::default() }));
    let many = sightings.iter().cycle().take(1_001).cloned().collect();
    for sightings in [Vec::new(), many] {
        let refused = scene.ask(Command::Locate { app: app.clone(), sightings }).unwrap_err();
        assert_eq!(refused.code(), stadium_push::refusal::COUNT);
    }
    scene.check();
}
