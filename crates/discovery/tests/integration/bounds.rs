//! The handle without a backend: bounds, refusals, and watchers that misbehave.

use crate::fixture;

use std::sync::mpsc;

use fixture::{PATIENCE, Seen, config, register};
use stadium_discovery::{
    Backend, Config, Discovery, Error, Freshness, StaticService, Tls, Versions, WATCHES_MAX,
};

fn fixed(ports: &[u16]) -> Discovery {
    let instances = ports.iter().map(|port| std::net::SocketAddr::from(([127, 0, 0, 1], *port)).into());
    let geo = StaticService { name: "geo".into(), version: "1".into(), instances: instances.collect() };
    Discovery::start(config(Backend::Static(vec![geo]))).expect("discovery")
}

#[test]
fn a_static_list_is_reported_once_and_listed() {
    let discovery = fixed(&[7800, 7801]);
    let seen = Seen::watch(&discovery, "geo");
    let snapshot = seen.until("the list", |_| true);
    assert_eq!((snapshot.instances.len(), snapshot.freshness), (2, Freshness::Static));
    assert_eq!(discovery.list(PATIENCE).expect("a list")[0].instances.len(), 2);
    let nobody = Seen::watch(&discovery, "unknown");
    assert_eq!(nobody.until("the list", |_| true).instances.len(), 0);
}

#[test]
fn registering_without_a_backend_succeeds_and_is_withdrawn() {
    let discovery = Discovery::start(Config::default()).expect("discovery");
    let registered = register(&discovery, "geo", 7800);
    assert!(registered.wait(PATIENCE));
    registered.withdraw(PATIENCE).expect("withdrawn");
}

#[test]
fn watches_beyond_the_bound_are_refused_until_one_ends() {
    let discovery = fixed(&[7800]);
    let (sender, snapshots) = mpsc::channel();
    let watch = || {
        let sender = sender.clone();
        discovery.watch("geo", Versions::Any, move |_| sender.send(()).expect("the suite listens"))
    };
    let mut watches = Vec::new();
    for _ in 0..WATCHES_MAX {
        watches.push(watch().expect("within the bound"));
        // One after the other, so that only this bound is met.
        snapshots.recv_timeout(PATIENCE).expect("a snapshot");
    }
    assert!(matches!(watch(), Err(Error::Busy(_))));
    watches.pop();
    assert!(watch().is_ok());
}

#[test]
fn a_watcher_that_panics_harms_nobody_else() {
    let discovery = fixed(&[7800]);
    let _bad = discovery.watch("geo", Versions::Any, |_| panic!("a bug of the watcher's")).expect("a watch");
    let seen = Seen::watch(&discovery, "geo");
    seen.until("the list", |snapshot| snapshot.instances.len() == 1);
}

#[test]
fn a_watcher_may_use_the_handle() {
    let discovery = fixed(&[7800]);
    let (sender, snapshots) = mpsc::channel();
    let handle = discovery.clone();
    let outer = move |_| {
        let sender = sender.clone();
        let inner = handle.watch("geo", Versions::Any, move |snapshot| drop(sender.send(snapshot)));
        // Kept, or it would end here.
        std::mem::forget(inner.expect("a watch"));
    };
    let _outer = discovery.watch("geo", Versions::Any, outer).expect("a watch");
    assert_eq!(snapshots.recv_timeout(PATIENCE).expect("a snapshot").instances.len(), 1);
}

#[test]
fn settings_and_names_that_make_no_sense_are_refused() {
    let etcd = |endpoints: &[&str], tls: Option<Tls>| {
        let endpoints = endpoints.iter().map(|endpoint| (*endpoint).to_owned()).collect();
        Config { backend: Backend::Etcd { endpoints, user: None, tls }, ..Config::default() }
    };
    let refused = [
        (etcd(&[], None), "0 etcd endpoints"),
        (etcd(&["127.0.0.1:2379"], None), "neither http"),
        (etcd(&["https://127.0.0.1:2379"], None), "needs TLS"),
        (Config { prefix: "services".into(), ..Config::default() }, "prefix"),
        (Config { session_ttl: std::time::Duration::ZERO, ..Config::default() }, "session_ttl"),
    ];
    for (config, what) in refused {
        let error = Discovery::start(config).expect_err(what);
        assert!(error.to_string().contains(what) && error.code() == "DSC-001", "{error}");
    }
    let discovery = fixed(&[]);
    for name in ["", "a/b", "..", &"n".repeat(65)] {
        let error = discovery.watch(name, Versions::Any, |_| ()).expect_err("a bad name");
        assert_eq!(error.code(), "DSC-002", "{name:?}");
    }
}
