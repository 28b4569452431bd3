//! Discovery on a real ZooKeeper: registrations, watches, and every way in which ZooKeeper goes away and comes back.
//!
//! What discovery says is compared with what a session of the suite's own reads.

mod scenery;

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use scenery::proxy::Proxy;
use scenery::zookeeper::Ensemble;
use scenery::{PATIENCE, Seen, TTL, config, register, until_true};
use stadium_discovery::{Backend, Config, Connection, Credentials, Discovery, Registration, State, Value};
use zookeeper_client::{Acls, Client, CreateMode, Error};

const PATH: &str = "/services/geo/1/127.0.0.1:7800";

#[test]
fn an_instance_appears_changes_and_leaves_at_once() {
    let zookeeper = Ensemble::start(1);
    let services = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let clients = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let seen = Seen::watch(&clients, "geo");
    seen.until_live(&[]);

    let value = Value { load: 0.4, zone: Some("a".to_owned()), ..Value::default() };
    let address = (Ipv4Addr::LOCALHOST, 7800).into();
    let (name, version) = ("geo".to_owned(), "1".to_owned());
    let registered = services.register(Registration { name, version, address, value }).expect("registered");
    assert!(registered.wait(PATIENCE));
    seen.until_live(&[7800]);
    let data = zookeeper.data(PATH).expect("the entry");
    assert_eq!(data, r#"{"load":0.4,"zone":"a","weight":100,"state":"serving"}"#);

    registered.update(0.9, State::Serving);
    seen.until("the load", |snapshot| snapshot.instances[0].load == 0.9);
    registered.update(0.9, State::Quiescing);
    seen.until("the state", |snapshot| snapshot.instances[0].state == State::Quiescing);
    registered.withdraw(PATIENCE).expect("withdrawn");
    seen.until_live(&[]);
    assert_eq!(zookeeper.data(PATH), None);
}

#[test]
fn the_last_instance_that_withdraws_while_serving_is_dropped_at_once() {
    let zookeeper = Ensemble::start(1);
    let discovery = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let seen = Seen::watch(&discovery, "geo");
    let registered = register(&discovery, "geo", 7800);
    seen.until_live(&[7800]);
    let withdrawn_at = Instant::now();
    drop(registered);
    seen.until_live(&[]);
    assert!(withdrawn_at.elapsed() < TTL * 2, "a goodbye is not waited for");
}

#[test]
fn the_tree_is_listed_and_what_cannot_be_read_is_counted() {
    let zookeeper = Ensemble::start(1);
    let discovery = Discovery::start(config(zookeeper.backend())).expect("discovery");
    assert_eq!(discovery.list(PATIENCE).expect("a list"), []);
    let registered: Vec<_> = [7800, 7801].map(|port| register(&discovery, "geo", port)).into();
    assert!(registered.iter().all(|registered| registered.wait(PATIENCE)));
    let folder = CreateMode::Persistent.with_acls(Acls::anyone_all());
    let make = async |client: &Client| {
        client.create("/services/geo/1/localhost:7800", b"{}", &folder).await?;
        client.create("/services/geo/1/127.0.0.1:7802", b"not JSON", &folder).await?;
        client.create("/services/idle", b"", &folder).await
    };
    zookeeper.with_client(make).expect("nodes");

    let listed = discovery.list(PATIENCE).expect("a list");
    let listed: Vec<_> = listed.iter().map(|one| (one.name.as_str(), one.instances.len())).collect();
    assert_eq!(listed, [("geo", 2)]);
    assert_eq!(discovery.status().unreadable, 2);
}

#[test]
fn a_server_that_is_killed_and_restarted_drops_nobody() {
    let mut zookeeper = Ensemble::start(1);
    let discovery = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let seen = Seen::watch(&discovery, "geo");
    let registered: Vec<_> = [7800, 7801].map(|port| register(&discovery, "geo", port)).into();
    seen.until_live(&[7800, 7801]);
    let from = seen.count();
    zookeeper.kill(0);
    let stale = seen.until_stale();
    assert_eq!(stale.instances.len(), 2);
    // Longer than a session lives and than the library holds on to one, as an outage would be.
    let outage = Instant::now();
    until_true("the outage to last", || outage.elapsed() > TTL * 2);
    assert!(matches!(discovery.status().connection, Connection::Away { .. }));
    zookeeper.revive(0);
    assert!(registered.iter().all(|registered| registered.wait(PATIENCE)));
    seen.until_live(&[7800, 7801]);
    seen.always_knew(&[7800, 7801], from);

    // The watch is set again too.
    let another = register(&discovery, "geo", 7802);
    seen.until_live(&[7800, 7801, 7802]);
    another.withdraw(PATIENCE).expect("withdrawn");
    seen.until_live(&[7800, 7801]);
}

#[test]
fn an_expired_session_is_replaced_and_its_entries_are_made_again() {
    let zookeeper = Ensemble::start(1);
    let proxy = Proxy::to(zookeeper.address(0));
    let discovery = Discovery::start(config(zookeeper.backend_at(proxy.address))).expect("discovery");
    let outside = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let seen = Seen::watch(&discovery, "geo");
    let onlooker = Seen::watch(&outside, "geo");
    let registered = register(&discovery, "geo", 7800);
    seen.until_live(&[7800]);
    onlooker.until_live(&[7800]);
    let (from, onlooker_from) = (seen.count(), onlooker.count());

    proxy.cut();
    seen.until_stale();
    until_true("the session to expire", || zookeeper.data(PATH).is_none());
    onlooker.until_stale();
    proxy.open();
    assert!(registered.wait(PATIENCE));
    seen.until_live(&[7800]);
    onlooker.until_live(&[7800]);
    assert_eq!(discovery.status().session_losses, 1);
    seen.always_knew(&[7800], from);
    onlooker.always_knew(&[7800], onlooker_from);
}

#[test]
fn a_connection_that_breaks_keeps_its_session() {
    let zookeeper = Ensemble::start(1);
    let proxy = Proxy::to(zookeeper.address(0));
    // A session that outlives the cut by far.
    let patient =
        Config { session_ttl: Duration::from_secs(9), ..config(zookeeper.backend_at(proxy.address)) };
    let discovery = Discovery::start(patient).expect("discovery");
    let seen = Seen::watch(&discovery, "geo");
    let registered = register(&discovery, "geo", 7800);
    seen.until_live(&[7800]);
    let before = discovery.status().reconnects;
    proxy.cut();
    until_true("the loss to be seen", || !registered.is_registered());
    proxy.open();
    until_true("the way back", || discovery.status().reconnects > before);
    assert!(registered.wait(PATIENCE));
    // The library does not set persistent watches again after a reconnection; we do.
    let other = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let _second = register(&other, "geo", 7801);
    seen.until_live(&[7800, 7801]);
    assert_eq!(discovery.status().session_losses, 0);
}

#[test]
fn a_zookeeper_that_lost_all_data_gets_it_back_from_the_services() {
    let mut zookeeper = Ensemble::start(1);
    let discovery = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let seen = Seen::watch(&discovery, "geo");
    let registered = register(&discovery, "geo", 7800);
    seen.until_live(&[7800]);
    let from = seen.count();
    zookeeper.kill(0);
    zookeeper.wipe();
    zookeeper.revive(0);
    seen.until_stale();
    zookeeper.until_ready();
    assert!(registered.wait(PATIENCE));
    seen.until_live(&[7800]);
    assert!(zookeeper.data(PATH).is_some());
    seen.always_knew(&[7800], from);
}

#[test]
fn a_paused_server_is_noticed_and_its_return_too() {
    let zookeeper = Ensemble::start(1);
    let discovery = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let seen = Seen::watch(&discovery, "geo");
    let registered = register(&discovery, "geo", 7800);
    seen.until_live(&[7800]);
    let from = seen.count();
    zookeeper.pause(0);
    seen.until_stale();
    zookeeper.go_on(0);
    assert!(registered.wait(PATIENCE));
    seen.until_live(&[7800]);
    seen.always_knew(&[7800], from);
}

#[test]
fn the_leader_of_three_may_be_killed() {
    let mut zookeeper = Ensemble::start(3);
    let discovery = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let seen = Seen::watch(&discovery, "geo");
    let registered = register(&discovery, "geo", 7800);
    seen.until_live(&[7800]);
    let from = seen.count();
    let leader = zookeeper.leader();
    zookeeper.kill(leader);
    let other = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let second = register(&other, "geo", 7801);
    assert!(second.wait(PATIENCE));
    seen.until_live(&[7800, 7801]);
    assert!(registered.wait(PATIENCE));
    assert!(seen.count() > from);
}

#[test]
fn discovery_starts_before_zookeeper_does() {
    let mut zookeeper = Ensemble::start(1);
    zookeeper.kill(0);
    let discovery = Discovery::start(config(zookeeper.backend())).expect("discovery");
    let seen = Seen::watch(&discovery, "geo");
    let registered = register(&discovery, "geo", 7800);
    until_true("a failed attempt", || discovery.status().failed_attempts > 0);
    zookeeper.revive(0);
    seen.until_live(&[7800]);
    assert!(registered.wait(PATIENCE));
}

#[test]
fn entries_of_a_user_are_for_others_to_read_only() {
    let zookeeper = Ensemble::start(1);
    let user = Credentials { user: "stadium".to_owned(), password: "secret".to_owned() };
    let backend = Backend::ZooKeeper { connect: zookeeper.connect(), user: Some(user) };
    let discovery = Discovery::start(config(backend)).expect("discovery");
    let registered = register(&discovery, "geo", 7800);
    assert!(registered.wait(PATIENCE));
    assert!(zookeeper.data(PATH).is_some());
    let overwrite = async |client: &Client| client.set_data(PATH, b"{}", None).await;
    assert_eq!(zookeeper.with_client(overwrite).expect_err("not ours"), Error::NoAuth);
}
