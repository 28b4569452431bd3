//! An instance leaves: nothing is lost, and its clients move to the others. Discovery's part in it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stadium_discovery::{Backend, Config, Discovery, StaticService, Versions};
use stadium_rpc::{CallError, Client, ClientConfig, Source};

use crate::fixture::*;

#[test]
fn no_call_is_lost_while_an_instance_leaves() {
    let (one, two) = (serve(named("one")), serve(named("two")));
    let words = connected_client(&[&one, &two], client_config(&[&one, &two])).service("words");
    let (stop, made) = (AtomicBool::new(false), Tally::default());
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        // Not idempotent: a call that is lost is not made again, and would be seen.
                        words.call(&ECHO, &word("")).wait().expect("no call is lost");
                        made.add();
                    }
                })
            })
            .collect();
        until("calls are made", || made.count() > 100 && counted(&one, "words/Echo").ok > 0);
        assert_eq!(one.quiesce(SOON).wait(), 0, "every client has left");
        let before = made.count();
        until("calls go on", || made.count() > before + 100);
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            caller.join().expect("it lost no call");
        }
    });
    let served = counted(&one, "words/Echo").ok;
    assert_eq!(words.call(&ECHO, &word("")).wait(), Ok(word("two")));
    assert_eq!(counted(&one, "words/Echo").ok, served);
}

#[test]
fn what_is_under_way_is_finished_before_the_instance_leaves() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("finished", &bell, &begun));
    let words = client_of(&[&server]).service("words");
    let calls: Vec<_> = (0..20).map(|_| words.call(&ECHO, &word(""))).collect();
    until("all have begun", || begun.count() == 20);
    assert_eq!(server.quiesce(Duration::from_millis(50)).wait(), 1, "the client has calls under way");
    bell.ring();
    for call in calls {
        assert_eq!(answer(call), Ok(word("finished")));
    }
    assert_eq!(server.quiesce(SOON).wait(), 0);
}

#[test]
fn nothing_new_reaches_a_server_that_has_left() {
    let server = serve(echo());
    let mut config = client_config(&[&server]);
    config.deadline = Duration::from_millis(200);
    let words = connected_client(&[&server], config).service("words");
    assert_eq!(server.quiesce(SOON).wait(), 0);
    let answer = words.call(&ECHO, &word("")).wait();
    assert!(matches!(answer, Err(CallError::Unavailable(_))), "{answer:?}");
}

#[test]
fn client_finds_what_discovery_names() {
    let (one, two) = (serve(named("one")), serve(named("two")));
    let listed = |version: &str, server: &stadium_rpc::Server| StaticService {
        name: "words".to_owned(),
        version: version.to_owned(),
        instances: vec![server.bound()[0].into()],
    };
    let backend = Backend::Static(vec![listed("1", &one), listed("2", &two)]);
    let discovery = Discovery::start(Config { backend, ..Config::default() }).expect("the list is right");
    for (versions, only) in [("1", "one"), ("2", "two")] {
        let source = Source::Discovery {
            discovery: discovery.clone(),
            versions: Versions::Exactly(versions.to_owned()),
        };
        let config = ClientConfig { source, ..ClientConfig::at(Vec::new()) };
        let words = Client::start(config).expect("a thread can be had").service("words");
        for _ in 0..20 {
            assert_eq!(words.call(&ECHO, &word("")).wait(), Ok(word(only)));
        }
    }
    let client = Client::start(ClientConfig::discovered(discovery)).expect("a thread can be had");
    let words = client.service("words");
    let mut heard = std::collections::HashSet::new();
    until("both are called", || {
        heard.insert(words.call(&ECHO, &word("")).wait().expect("it answers").text);
        heard.len() == 2
    });
}

#[test]
fn service_that_discovery_does_not_name_is_unavailable() {
    let discovery = Discovery::start(Config { backend: Backend::Static(Vec::new()), ..Config::default() })
        .expect("an empty list is a list");
    let config = ClientConfig { deadline: Duration::from_millis(200), ..ClientConfig::discovered(discovery) };
    let client = Client::start(config).expect("a thread can be had");
    let answer = client.service("words").call(&ECHO, &word("")).wait();
    assert!(matches!(answer, Err(CallError::Unavailable(_))), "{answer:?}");
}
