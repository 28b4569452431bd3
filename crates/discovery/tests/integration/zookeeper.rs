//! Discovery on a real ZooKeeper: registrations, watches, and every way in which ZooKeeper goes away and comes back.
//!
//! The reports of discovery are compared with what a session of the suite's own reads.

use crate::fixture;

use std::time::Duration;

use fixture::proxy::Proxy;
use fixture::registry::Registry as _;
use fixture::zookeeper::{Ensemble, with_client};
use fixture::{GEO, PATIENCE, Stage, behaviours, config, discover, register, until_true};
use stadium_discovery::{Backend, Config, Credentials};
use zookeeper_client::{Acls, Client, CreateMode, Error};

#[test]
fn an_instance_appears_changes_and_leaves_at_once() {
    behaviours::an_instance_appears_changes_and_leaves_at_once(&Ensemble::start(1));
}

#[test]
fn the_last_instance_that_withdraws_while_serving_is_dropped_at_once() {
    behaviours::the_last_instance_that_withdraws_while_serving_is_dropped_at_once(&Ensemble::start(1));
}

#[test]
fn the_tree_is_listed_and_what_cannot_be_read_is_counted() {
    let zookeeper = Ensemble::start(1);
    let discovery = discover(zookeeper.backend());
    assert_eq!(discovery.list(PATIENCE).expect("a list"), []);
    let registered: Vec<_> = [7800, 7801].map(|port| register(&discovery, "geo", port)).into();
    assert!(registered.iter().all(|registered| registered.wait(PATIENCE)));
    let folder = CreateMode::Persistent.with_acls(Acls::anyone_all());
    let make = async |client: &Client| {
        client.create("/services/geo/1/localhost:7800", b"{}", &folder).await?;
        client.create("/services/geo/1/127.0.0.1:7802", b"not JSON", &folder).await?;
        client.create("/services/idle", b"", &folder).await
    };
    with_client(&zookeeper, make).expect("nodes");

    let listed = discovery.list(PATIENCE).expect("a list");
    let listed: Vec<_> = listed.iter().map(|one| (one.name.as_str(), one.instances.len())).collect();
    assert_eq!(listed, [("geo", 2)]);
    assert_eq!(discovery.status().unreadable, 2);
}

#[test]
fn a_server_that_is_killed_and_restarted_drops_nobody() {
    behaviours::an_outage_drops_nobody_and_ends_by_itself(&mut Ensemble::start(1));
}

#[test]
fn an_expired_session_is_replaced_and_its_entries_are_made_again() {
    let losses = behaviours::a_way_that_fails_for_long_drops_nobody(&Ensemble::start(1), Proxy::cut);
    assert_eq!(losses, 1);
}

#[test]
fn a_connection_that_breaks_keeps_its_session() {
    let zookeeper = Ensemble::start(1);
    let proxy = Proxy::to(zookeeper.address(0));
    // A session that outlives the cut by far.
    let session_ttl = Duration::from_secs(9);
    let stage = Stage::with(Config { session_ttl, ..config(zookeeper.backend_at(&[proxy.address])) });
    let before = stage.discovery.status().reconnects;
    proxy.cut();
    until_true("the loss to be seen", || !stage.registered.is_registered());
    proxy.open();
    until_true("the way back", || stage.discovery.status().reconnects > before);
    assert!(stage.registered.wait(PATIENCE));
    // The library does not set persistent watches again after a reconnection; we do.
    let other = discover(zookeeper.backend());
    let _second = register(&other, "geo", 7801);
    stage.seen.until_live(&[7800, 7801]);
    assert_eq!(stage.discovery.status().session_losses, 0);
}

#[test]
fn a_zookeeper_that_lost_all_data_gets_it_back_from_the_services() {
    let regained = behaviours::lost_data_comes_back_from_the_services(&mut Ensemble::start(1));
    assert_eq!(regained.session_losses, 1, "a session holds all registrations");
}

#[test]
fn a_paused_server_is_noticed_and_its_return_too() {
    behaviours::a_paused_member_is_noticed_and_its_return_too(&mut Ensemble::start(1));
}

#[test]
fn the_leader_of_three_may_be_killed() {
    let mut zookeeper = Ensemble::start(3);
    let stage = Stage::set(zookeeper.backend());
    let leader = zookeeper.leader();
    zookeeper.kill(leader);
    let other = discover(zookeeper.backend());
    let second = register(&other, "geo", 7801);
    assert!(second.wait(PATIENCE));
    stage.seen.until_live(&[7800, 7801]);
    assert!(stage.registered.wait(PATIENCE));
    stage.was_notified_again();
}

#[test]
fn discovery_starts_before_zookeeper_does() {
    behaviours::discovery_starts_before_its_backend_does(&mut Ensemble::start(1));
}

#[test]
fn entries_of_a_user_are_for_others_to_read_only() {
    let zookeeper = Ensemble::start(1);
    let user = Credentials { user: "stadium".to_owned(), password: "secret".to_owned() };
    let backend = Backend::ZooKeeper { connect: zookeeper.connect(), user: Some(user) };
    let discovery = discover(backend);
    let registered = register(&discovery, "geo", 7800);
    assert!(registered.wait(PATIENCE));
    assert!(zookeeper.value(GEO).is_some());
    let overwrite = async |client: &Client| client.set_data(GEO, b"{}", None).await;
    assert_eq!(with_client(&zookeeper, overwrite).expect_err("not ours"), Error::NoAuth);
}
