//! What holds with every backend, told once. Each backend's suite plays these stories on its own members.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use stadium_discovery::{Connection, Registration, State, Value};

use super::proxy::Proxy;
use super::registry::Registry;
use super::{GEO, PATIENCE, Seen, Stage, TTL, discover, register, until_true};

pub fn an_instance_appears_changes_and_leaves_at_once(registry: &impl Registry) {
    let (services, clients) = (discover(registry.backend()), discover(registry.backend()));
    let seen = Seen::watch(&clients, "geo");
    assert_eq!(seen.first().revision, 0);
    seen.until_live(&[]);

    let value = Value { load: 0.4, zone: Some("a".to_owned()), ..Value::default() };
    let address = (Ipv4Addr::LOCALHOST, 7800).into();
    let (name, version) = ("geo".to_owned(), "1".to_owned());
    let registered = services.register(Registration { name, version, address, value }).expect("registered");
    assert!(registered.wait(PATIENCE));
    seen.until_live(&[7800]);
    let entry = registry.value(GEO).expect("the entry");
    assert_eq!(entry, r#"{"load":0.4,"zone":"a","weight":100,"state":"serving"}"#);

    registered.update(0.9, State::Serving);
    seen.until("the load", |snapshot| snapshot.instances[0].load == 0.9);
    registered.update(0.9, State::Quiescing);
    seen.until("the state", |snapshot| snapshot.instances[0].state == State::Quiescing);

    let withdrawn_at = Instant::now();
    registered.withdraw(PATIENCE).expect("withdrawn");
    seen.until_live(&[]);
    assert!(withdrawn_at.elapsed() < TTL, "a goodbye is not waited for");
    assert_eq!(registry.value(GEO), None);
}

pub fn the_last_instance_that_withdraws_while_serving_is_dropped_at_once(registry: &impl Registry) {
    let stage = Stage::set(registry.backend());
    let withdrawn_at = Instant::now();
    drop(stage.registered);
    stage.seen.until_live(&[]);
    assert!(withdrawn_at.elapsed() < TTL * 2, "a goodbye is not waited for");
    until_true("the entry to go", || registry.value(GEO).is_none());
}

pub fn discovery_starts_before_its_backend_does(registry: &mut impl Registry) {
    registry.kill_all();
    let discovery = discover(registry.backend());
    let seen = Seen::watch(&discovery, "geo");
    let registered = register(&discovery, "geo", 7800);
    until_true("a failed attempt", || discovery.status().failed_attempts > 0);
    let why = discovery.list(Duration::from_millis(50)).expect_err("nobody to ask");
    assert_eq!(why.code(), "DSC-004");
    assert!(!registered.is_registered());
    registry.revive_all();
    seen.until_live(&[7800]);
    assert!(registered.wait(PATIENCE));
}

pub fn an_outage_drops_nobody_and_ends_by_itself(registry: &mut impl Registry) {
    let discovery = discover(registry.backend());
    let seen = Seen::watch(&discovery, "geo");
    let registered = [7800, 7801].map(|port| register(&discovery, "geo", port));
    seen.until_live(&[7800, 7801]);
    let from = seen.count();
    registry.kill_all();
    let stale = seen.until_stale();
    assert_eq!(stale.instances.len(), 2);
    until_true("the services to know", || registered.iter().all(|one| !one.is_registered()));
    // Longer than a registration lives and than a library holds on to one, as an outage would be.
    let outage = Instant::now();
    until_true("the outage to last", || outage.elapsed() > TTL * 2);
    assert!(matches!(discovery.status().connection, Connection::Away { .. }));
    registry.revive_all();
    assert!(registered.iter().all(|registered| registered.wait(PATIENCE)));
    seen.until_live(&[7800, 7801]);
    seen.always_knew(&[7800, 7801], from);

    // The watch goes on too.
    let another = register(&discovery, "geo", 7802);
    seen.until_live(&[7800, 7801, 7802]);
    another.withdraw(PATIENCE).expect("withdrawn");
    seen.until_live(&[7800, 7801]);
}

/// How a backend that had lost all data got it back.
pub struct Regained {
    /// How long that took from when it served again.
    pub took: Duration,
    /// The registrations' lives that the services lost with it.
    pub session_losses: u64,
}

pub fn lost_data_comes_back_from_the_services(registry: &mut impl Registry) -> Regained {
    let (services, clients) = (discover(registry.backend()), discover(registry.backend()));
    let seen = Seen::watch(&clients, "geo");
    let registered = [7800, 7801].map(|port| register(&services, "geo", port));
    seen.until_live(&[7800, 7801]);
    let from = seen.count();
    registry.kill_all();
    registry.wipe();
    registry.revive_all();
    seen.until_stale();
    registry.until_ready();
    let ready = Instant::now();
    seen.until_live(&[7800, 7801]);
    let took = ready.elapsed();
    assert!(registered.iter().all(|registered| registered.wait(PATIENCE)));
    assert!(registry.value(GEO).is_some());
    seen.always_knew(&[7800, 7801], from);
    Regained { took, session_losses: services.status().session_losses }
}

/// `fail` makes the way to the backend fail, for longer than a registration lives. Returns how often the service lost
/// its session or lease.
pub fn a_way_that_fails_for_long_drops_nobody(registry: &impl Registry, fail: impl FnOnce(&Proxy)) -> u64 {
    let proxy = Proxy::to(registry.address(0));
    let stage = Stage::set(registry.backend_at(&[proxy.address]));
    let outside = discover(registry.backend());
    let onlooker = Seen::watch(&outside, "geo");
    onlooker.until_live(&[7800]);
    let onlooker_from = onlooker.count();

    fail(&proxy);
    stage.seen.until_stale();
    until_true("the registration to expire", || registry.value(GEO).is_none());
    // Whoever still sees the backend has a doubt too, because nobody is left.
    onlooker.until_stale();
    proxy.open();
    stage.until_registered_again();
    onlooker.until_live(&[7800]);
    stage.always_knew_it();
    onlooker.always_knew(&[7800], onlooker_from);
    stage.discovery.status().session_losses
}

pub fn a_paused_member_is_noticed_and_its_return_too(registry: &mut impl Registry) {
    let stage = Stage::set(registry.backend());
    registry.pause(0);
    stage.seen.until_stale();
    registry.go_on(0);
    stage.until_registered_again();
    stage.always_knew_it();
}
