//! Discovery on a real etcd: registrations, watches, and every way in which etcd goes away and comes back.
//!
//! The reports of discovery are compared with what etcd's own JSON gateway shows.

use crate::fixture;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use fixture::etcd::Cluster;
use fixture::proxy::Proxy;
use fixture::registry::Registry as _;
use fixture::{GEO, PATIENCE, Seen, Stage, TTL, behaviours, config, discover, register, until_true};
use stadium_discovery::{
    Backend, Config, Connection, Credentials, Discovery, Registration, Tls, Value, Versions,
};

#[test]
fn an_instance_appears_changes_and_leaves_at_once() {
    behaviours::an_instance_appears_changes_and_leaves_at_once(&Cluster::start(1));
}

#[test]
fn the_last_instance_that_withdraws_while_serving_is_dropped_at_once() {
    behaviours::the_last_instance_that_withdraws_while_serving_is_dropped_at_once(&Cluster::start(1));
}

#[test]
fn versions_and_both_kinds_of_address_are_listed() {
    let etcd = Cluster::start(1);
    let discovery = discover(etcd.backend());
    let entry = |name: &str, version: &str, address| Registration {
        name: name.to_owned(),
        version: version.to_owned(),
        address,
        value: Value::default(),
    };
    let entries = [
        entry("geo", "2", (Ipv6Addr::LOCALHOST, 7800).into()),
        entry("geo", "1", (Ipv4Addr::LOCALHOST, 7801).into()),
        entry("auth", "1", (Ipv4Addr::LOCALHOST, 7802).into()),
    ];
    let registered: Vec<_> = entries.map(|entry| discovery.register(entry).expect("registered")).into();
    assert!(registered.iter().all(|registered| registered.wait(PATIENCE)));
    assert!(etcd.key("/services/geo/2/[::1]:7800").is_some());

    let listed = discovery.list(PATIENCE).expect("a list");
    let listed: Vec<(&str, &str, usize)> = listed
        .iter()
        .map(|service| (service.name.as_str(), service.version.as_str(), service.instances.len()))
        .collect();
    assert_eq!(listed, [("auth", "1", 1), ("geo", "1", 1), ("geo", "2", 1)]);

    let (sender, snapshots) = std::sync::mpsc::channel();
    let only = Versions::Exactly("2".to_owned());
    let _watch = discovery.watch("geo", only, move |snapshot| drop(sender.send(snapshot))).expect("a watch");
    let snapshot = std::iter::from_fn(|| snapshots.recv_timeout(PATIENCE).ok()).find(|one| one.revision > 0);
    let instances = snapshot.expect("a snapshot").instances;
    assert_eq!(instances.iter().map(|one| one.version.as_str()).collect::<Vec<_>>(), ["2"]);
}

#[test]
fn what_cannot_be_read_is_skipped_and_counted() {
    let etcd = Cluster::start(1);
    etcd.put("/services/geo/1/127.0.0.1:7801", "{}");
    etcd.put("/services/geo/1/127.0.0.1:7802", "not JSON");
    etcd.put("/services/geo/1/localhost:7803", "{}");
    let discovery = discover(etcd.backend());
    let seen = Seen::watch(&discovery, "geo");
    seen.until_live(&[7801]);
    assert_eq!(discovery.status().unreadable, 2);
    etcd.put("/services/geo/1/127.0.0.1:7804", "[]");
    etcd.put("/services/geo/1/127.0.0.1:7805", r#"{"load":0.5}"#);
    seen.until_live(&[7801, 7805]);
    assert_eq!(discovery.status().unreadable, 3);
}

#[test]
fn more_instances_than_one_answer_holds_are_all_read() {
    let etcd = Cluster::start(1);
    let ports: Vec<u16> = (10_000..12_345).collect();
    let keys: Vec<String> = ports.iter().map(|port| format!("/services/geo/1/127.0.0.1:{port}")).collect();
    etcd.put_all(&keys, "{}");
    let discovery = discover(etcd.backend());
    let seen = Seen::watch(&discovery, "geo");
    seen.until_live(&ports);
    assert_eq!(discovery.list(PATIENCE).expect("a list")[0].instances.len(), ports.len());
    assert_eq!(discovery.status().unreadable, 0);
}

#[test]
fn one_that_dies_is_forgotten_when_its_lease_has_expired() {
    let etcd = Cluster::start(1);
    let discovery = discover(etcd.backend());
    let seen = Seen::watch(&discovery, "geo");
    let _living = register(&discovery, "geo", 7800);
    etcd.put_with_lease("/services/geo/1/127.0.0.1:7801", "{}", &etcd.grant(1));
    seen.until("both", |snapshot| snapshot.instances.len() == 2);
    seen.until_live(&[7800]);
}

#[test]
fn a_lost_lease_and_a_deleted_entry_are_made_again() {
    let etcd = Cluster::start(1);
    let stage = Stage::with(Config { refresh: Duration::from_secs(1), ..config(etcd.backend()) });

    let first = etcd.key(GEO).expect("the entry").lease;
    assert_ne!(first, "0", "it has one");
    etcd.revoke(&first);
    until_true("another lease", || etcd.key(GEO).is_some_and(|key| key.lease != first));
    stage.seen.until_live(&[7800]);
    assert_eq!(stage.discovery.status().session_losses, 1);

    etcd.delete(GEO);
    until_true("the entry", || etcd.key(GEO).is_some());
    stage.seen.until_live(&[7800]);
    stage.always_knew_it();
}

#[test]
fn discovery_starts_before_etcd_does() {
    behaviours::discovery_starts_before_its_backend_does(&mut Cluster::start(1));
}

#[test]
fn every_member_may_be_killed_in_turn_the_leader_first() {
    let mut etcd = Cluster::start(3);
    let stage = Stage::set(etcd.backend());
    let leader = etcd.leader();
    for turn in 0..3 {
        let victim = (leader + turn) % 3;
        etcd.kill(victim);
        etcd.until_ready();
        // Who comes now is seen by all, so the watch has moved to a member that lives.
        let port = 7801 + u16::try_from(turn).expect("three turns");
        let other = discover(etcd.backend());
        let registered = register(&other, "geo", port);
        stage.seen.until_live(&[7800, port]);
        registered.withdraw(PATIENCE).expect("withdrawn");
        stage.seen.until_live(&[7800]);
        etcd.revive(victim);
        etcd.until_ready();
    }
    assert!(stage.registered.wait(PATIENCE));
    assert_eq!(stage.discovery.status().connection, Connection::Connected);
    stage.was_notified_again();
}

#[test]
fn a_leader_that_is_paused_is_left_for_another() {
    let mut etcd = Cluster::start(3);
    let leader = etcd.leader();
    let others: Vec<_> =
        (0..3).filter(|number| *number != leader).map(|number| etcd.address(number)).collect();
    // Reached through the leader first: the others are tried later.
    let leader_first = [&[etcd.address(leader)], &*others].concat();
    let stage = Stage::set(etcd.backend_at(&leader_first));
    etcd.pause(leader);
    let other = discover(etcd.backend_at(&others));
    let second = register(&other, "geo", 7801);
    assert!(second.wait(PATIENCE));
    stage.seen.until_live(&[7800, 7801]);
    assert!(stage.registered.wait(PATIENCE));
    etcd.go_on(leader);
    drop(second);
    stage.seen.until_live(&[7800]);
    stage.was_notified_again();
}

#[test]
fn a_paused_etcd_is_noticed_and_its_return_too() {
    behaviours::a_paused_member_is_noticed_and_its_return_too(&mut Cluster::start(1));
}

#[test]
fn an_outage_of_all_members_drops_nobody_and_ends_by_itself() {
    behaviours::an_outage_drops_nobody_and_ends_by_itself(&mut Cluster::start(3));
}

#[test]
fn an_etcd_that_lost_all_data_gets_it_back_from_the_services() {
    let regained = behaviours::lost_data_comes_back_from_the_services(&mut Cluster::start(3));
    assert!(regained.took < TTL * 2, "they register again within seconds, not {:?}", regained.took);
    assert!(regained.session_losses >= 2, "each registration has a lease of its own");
}

#[test]
fn a_goodbye_that_was_missed_is_caught_up_with() {
    let etcd = Cluster::start(1);
    let proxy = Proxy::to(etcd.address(0));
    // A long lease, so that the cut is short beside it.
    let behind = Config { session_ttl: Duration::from_secs(60), ..config(etcd.backend_at(&[proxy.address])) };
    let clients = Discovery::start(behind).expect("discovery");
    let services = discover(etcd.backend());
    let seen = Seen::watch(&clients, "geo");
    let staying = register(&services, "geo", 7800);
    let leaving = register(&services, "geo", 7801);
    seen.until_live(&[7800, 7801]);
    proxy.cut();
    leaving.withdraw(PATIENCE).expect("withdrawn");
    proxy.open();
    // The grace would be two minutes.
    seen.until_live(&[7800]);
    assert_eq!(clients.status().compactions, 0);
    drop(staying);
}

#[test]
fn compacted_history_is_replaced_by_the_list() {
    let etcd = Cluster::start(1);
    let proxy = Proxy::to(etcd.address(0));
    let behind = Config { session_ttl: Duration::from_secs(10), ..config(etcd.backend_at(&[proxy.address])) };
    let clients = Discovery::start(behind).expect("discovery");
    for port in [7800, 7801] {
        etcd.put(&format!("/services/geo/1/127.0.0.1:{port}"), "{}");
    }
    let seen = Seen::watch(&clients, "geo");
    seen.until_live(&[7800, 7801]);
    proxy.cut();
    etcd.delete("/services/geo/1/127.0.0.1:7801");
    etcd.put("/services/geo/1/127.0.0.1:7802", "{}");
    etcd.compact();
    proxy.open();
    until_true("the compaction to be met", || clients.status().compactions == 1);
    seen.until("the new one", |snapshot| snapshot.instances.iter().any(|one| one.address.port() == 7802));
    // The one that was deleted is in doubt: nobody saw whether it said goodbye.
    etcd.put("/services/geo/1/127.0.0.1:7803", "{}");
    seen.until("the watch to go on", |snapshot| snapshot.instances.len() == 4);
}

#[test]
fn a_black_hole_longer_than_a_lease_drops_nobody() {
    let losses = behaviours::a_way_that_fails_for_long_drops_nobody(&Cluster::start(1), Proxy::block);
    assert!(losses >= 1);
}

#[test]
fn it_speaks_tls_and_logs_in() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let (certificate, key) = (folder.path().join("etcd.crt"), folder.path().join("etcd.key"));
    std::fs::write(&certificate, made.cert.pem()).expect("a file");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("a file");
    let etcd = Cluster::start_with_tls(certificate.clone(), key);
    etcd.enable_authentication("stadium", "secret", "/services");

    let backend = |password: &str, authorities| Backend::Etcd {
        endpoints: vec![format!("https://localhost:{}", etcd.secure_port())],
        user: Some(Credentials { user: "stadium".to_owned(), password: password.to_owned() }),
        tls: Some(Tls { authorities, identity: None, server_name: None }),
    };
    let discovery = discover(backend("secret", certificate.clone()));
    let seen = Seen::watch(&discovery, "geo");
    let registered = register(&discovery, "geo", 7800);
    assert!(registered.wait(PATIENCE), "{:?}", discovery.status());
    seen.until_live(&[7800]);

    let stranger = discover(backend("wrong", certificate));
    until_true("to be refused", || {
        let status = stranger.status();
        matches!(status.connection, Connection::Away { why, .. } if why.contains("authentication failed"))
    });
    let missing = folder.path().join("missing.crt");
    let careless = discover(backend("secret", missing));
    until_true("a report of which file", || {
        let status = careless.status();
        matches!(status.connection, Connection::Away { why, .. } if why.contains("missing.crt"))
    });
}
