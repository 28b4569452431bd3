//! A static list with names: they are looked up, looked up again, and missing ones harm no other.
//!
//! The tests have a name server of their own; how the system looks names up is not tested here.

use crate::fixture;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fixture::{PATIENCE, Seen, config, until_true};
use parking_lot::{Condvar, Mutex};
use stadium_discovery::{
    Backend, Config, Connection, Discovery, Freshness, Resolve, Snapshot, StaticInstance, StaticService,
};

/// Names and their addresses, as a name server would know them. A name without any is not answered until it has some.
#[derive(Clone, Default)]
struct Zone(Arc<(Mutex<Known>, Condvar)>);

#[derive(Default)]
struct Known {
    addresses: HashMap<String, Vec<SocketAddr>>,
    looked_up: Vec<Instant>,
}

impl Zone {
    fn set(&self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|address| address.parse().expect("an address")).collect();
        self.0.0.lock().addresses.insert(name.to_owned(), addresses);
        self.0.1.notify_all();
    }

    fn resolve(&self) -> Resolve {
        let zone = self.clone();
        Resolve::by(move |name| {
            let (known, changed) = &*zone.0;
            let mut known = known.lock();
            known.looked_up.push(Instant::now());
            while known.addresses.get(name).is_some_and(Vec::is_empty) {
                changed.wait(&mut known);
            }
            known.addresses.get(name).cloned().ok_or_else(|| io::Error::other("no such host"))
        })
    }

    fn look_ups(&self) -> usize {
        self.0.0.lock().looked_up.len()
    }
}

fn instance(place: &str) -> StaticInstance {
    place.parse::<stadium_discovery::HostPort>().expect("HOST:PORT").into()
}

fn service(name: &str, instances: Vec<StaticInstance>) -> StaticService {
    StaticService { name: name.to_owned(), version: "1".to_owned(), instances }
}

fn discover(zone: &Zone, refresh: Duration, services: Vec<StaticService>) -> Discovery {
    let config = Config { resolve: zone.resolve(), refresh, ..config(Backend::Static(services)) };
    Discovery::start(config).expect("discovery")
}

const NEVER: Duration = Duration::from_secs(3_600);

fn addresses(snapshot: &Snapshot) -> Vec<String> {
    snapshot.instances.iter().map(|instance| instance.address.to_string()).collect()
}

#[test]
fn a_name_with_several_addresses_is_several_instances_of_its_zone_and_weight() {
    let zone = Zone::default();
    zone.set("geo.internal:7800", &["10.0.0.2:7800", "10.0.0.1:7800"]);
    let named = StaticInstance { zone: Some("a".to_owned()), weight: 50, ..instance("geo.internal:7800") };
    // The second one is there twice: the first that is listed counts.
    let geo = service("geo", vec![named, instance("10.0.0.2:7800"), instance("[::1]:7800")]);
    let discovery = discover(&zone, NEVER, vec![geo]);
    let seen = Seen::watch(&discovery, "geo");
    let snapshot = seen.until("the list", |snapshot| snapshot.revision > 0);
    let listed = |snapshot: &Snapshot| -> Vec<(String, Option<String>, u32)> {
        let instances = snapshot.instances.iter();
        instances.map(|one| (one.address.to_string(), one.zone.clone(), one.weight)).collect()
    };
    assert_eq!(
        listed(&snapshot),
        [
            ("10.0.0.1:7800".to_owned(), Some("a".to_owned()), 50),
            ("10.0.0.2:7800".to_owned(), Some("a".to_owned()), 50),
            ("[::1]:7800".to_owned(), None, 100),
        ]
    );
    assert_eq!(snapshot.freshness, Freshness::Static);
    assert_eq!(discovery.list(PATIENCE).expect("a list")[0].instances[..], snapshot.instances[..]);
    assert_eq!(discovery.status().connection, Connection::NotNeeded);
}

#[test]
fn a_name_that_is_not_found_leaves_the_others_and_is_said() {
    let zone = Zone::default();
    zone.set("geo.internal:7800", &["10.0.0.1:7800"]);
    let geo = service("geo", vec![instance("geo.internal:7800"), instance("gone.internal:7800")]);
    let lost = service("lost", vec![instance("gone.internal:7800")]);
    let words = service("words", vec![instance("geo.internal:7800")]);
    let discovery = discover(&zone, NEVER, vec![geo, lost, words]);
    let missing = "gone.internal:7800 is not found: no such host";
    let is_missing =
        |snapshot: &Snapshot| matches!(&snapshot.freshness, Freshness::Stale { why, .. } if why == missing);
    let seen = Seen::watch(&discovery, "geo").until("the list", |snapshot| snapshot.revision > 0);
    assert!(is_missing(&seen) && addresses(&seen) == ["10.0.0.1:7800"], "{seen:?}");
    let lost = Seen::watch(&discovery, "lost");
    let seen = lost.until("the list", |snapshot| snapshot.revision > 0);
    assert!(is_missing(&seen) && seen.instances.is_empty(), "{seen:?}");
    let seen = Seen::watch(&discovery, "words").until("the list", |snapshot| snapshot.revision > 0);
    assert_eq!((addresses(&seen), seen.freshness), (vec!["10.0.0.1:7800".to_owned()], Freshness::Static));
    let listed = discovery.list(PATIENCE).expect("a list");
    let counts: Vec<usize> = listed.iter().map(|service| service.instances.len()).collect();
    assert_eq!(counts, [1, 0, 1]);
    assert_eq!(discovery.status().trouble(), Some(missing));

    zone.set("gone.internal:7800", &["10.0.0.9:7800"]);
    let seen = lost.until("the name", |snapshot| snapshot.freshness == Freshness::Static);
    assert_eq!(addresses(&seen), ["10.0.0.9:7800"]);
    until_true("all to be well", || discovery.status().trouble().is_none());
}

#[test]
fn a_name_that_is_not_answered_holds_up_no_other() {
    let zone = Zone::default();
    zone.set("geo.internal:7800", &["10.0.0.1:7800"]);
    zone.set("slow.internal:7800", &[]);
    let geo = service("geo", vec![instance("slow.internal:7800"), instance("geo.internal:7800")]);
    let slow = service("slow", vec![instance("slow.internal:7800")]);
    let discovery = discover(&zone, NEVER, vec![geo, slow]);
    let seen = Seen::watch(&discovery, "geo");
    let snapshot = seen.until("the one that answers", |snapshot| snapshot.revision > 0);
    assert_eq!(addresses(&snapshot), ["10.0.0.1:7800"]);
    let slow = Seen::watch(&discovery, "slow");
    assert_eq!(slow.until("the list", |_| true).revision, 0, "nothing is known, and that is not nobody");
    let listed = discovery.list(Duration::from_millis(1)).expect("a list of those that are known");
    assert_eq!(listed.iter().map(|service| service.instances.len()).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(discovery.status().trouble(), Some("slow.internal:7800 is being looked up"));
    zone.set("slow.internal:7800", &["10.0.0.2:7800"]);
    let snapshot = seen.until("both", |snapshot| snapshot.instances.len() == 2);
    assert_eq!(snapshot.freshness, Freshness::Static);
}

#[test]
fn names_are_looked_up_again_when_a_connection_failed_and_at_most_once_a_second() {
    let zone = Zone::default();
    zone.set("geo.internal:7800", &["10.0.0.1:7800"]);
    let geo = service("geo", vec![instance("geo.internal:7800")]);
    let started = Instant::now();
    let discovery = discover(&zone, NEVER, vec![geo]);
    let seen = Seen::watch(&discovery, "geo");
    seen.until("the list", |snapshot| addresses(snapshot) == ["10.0.0.1:7800"]);
    zone.set("geo.internal:7800", &["10.0.0.2:7800"]);
    assert_eq!(zone.look_ups(), 1, "nobody asked");
    until_true("three look-ups", || {
        discovery.connection_failed();
        zone.look_ups() >= 3
    });
    seen.until("the other one", |snapshot| addresses(snapshot) == ["10.0.0.2:7800"]);
    let looked_up = zone.0.0.lock().looked_up.clone();
    for (seconds, at) in (0..).zip(&looked_up) {
        assert!(*at >= started + Duration::from_secs(seconds), "after {started:?}: {looked_up:?}");
    }
}

#[test]
fn names_are_looked_up_now_and_then_in_any_case() {
    let zone = Zone::default();
    zone.set("geo.internal:7800", &["10.0.0.1:7800"]);
    let geo = service("geo", vec![instance("geo.internal:7800")]);
    let discovery = discover(&zone, Duration::from_secs(1), vec![geo]);
    let seen = Seen::watch(&discovery, "geo");
    seen.until("the list", |snapshot| addresses(snapshot) == ["10.0.0.1:7800"]);
    zone.set("geo.internal:7800", &["10.0.0.2:7800", "10.0.0.3:7800"]);
    seen.until("the others", |snapshot| addresses(snapshot) == ["10.0.0.2:7800", "10.0.0.3:7800"]);
}
