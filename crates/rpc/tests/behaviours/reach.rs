//! Calls that reach nobody end early, and report the instances that were tried and their outcomes.
//!
//! Names of instances are looked up by the system, or by a function of the test.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stadium_discovery::{Backend, Config, Discovery, HostPort, Resolve, StaticService};
use stadium_rpc::{CallError, CallOptions, Client, ClientConfig, Listen, ServerConfig, Unavailable};

use crate::fixture::*;

/// A client whose calls have much time, and that soon gives up where nobody is there.
fn hasty(config: ClientConfig) -> Client {
    let grace = Duration::from_millis(50);
    let config = ClientConfig { deadline: SOON, unreachable_grace: grace, discovery_grace: grace, ..config };
    Client::start(config).expect("a thread can be had")
}

fn unavailable<A: std::fmt::Debug>(answer: Result<A, CallError>) -> Unavailable {
    match answer {
        Err(CallError::Unavailable(unavailable)) => *unavailable,
        other => panic!("not unavailable: {other:?}"),
    }
}

#[test]
fn call_ends_early_where_every_instance_refuses_and_names_them() {
    let (one, two) = (nobody(), nobody());
    let client = hasty(ClientConfig::at(vec![one, two]));
    let words = client.service("words");
    let began = Instant::now();
    let error = unavailable(words.call(&ECHO, &word("")).wait());
    assert!(began.elapsed() < SOON / 2, "it does not wait for its deadline");
    let mut tried: Vec<_> = error.tried.iter().map(|one| one.address.clone()).collect();
    tried.sort();
    let mut expected = [one.to_string(), two.to_string()];
    expected.sort();
    assert_eq!(tried, expected);
    assert!(error.tried.iter().all(|one| one.why.contains("refused")), "{error:?}");
    assert!(error.to_string().contains(&one.to_string()) && error.to_string().contains("words"), "{error}");
    let mut stream = words.stream(&COUNT, &word(""), 1, &CallOptions::default());
    assert_eq!(unavailable(stream.next_within(SOON / 2)).tried.len(), 2);
    assert!(began.elapsed() < SOON / 2);
}

#[test]
fn calls_are_answered_again_once_a_server_is_there() {
    let address = nobody();
    let client = hasty(ClientConfig::at(vec![address]));
    let words = client.service("words");
    unavailable(words.call(&ECHO, &word("")).wait());
    let _server = serve_with(ServerConfig { listen: vec![Listen::tcp(address)], ..server_config() }, echo());
    until("it is found", || words.call(&ECHO, &word("on")).wait() == Ok(word("on")));
}

#[test]
fn call_waits_for_an_instance_that_was_not_tried_yet() {
    let server = serve(echo());
    for _ in 0..20 {
        let client = hasty(ClientConfig::at(vec![nobody(), server.bound()[0], nobody()]));
        assert_eq!(client.service("words").call(&ECHO, &word("on")).wait(), Ok(word("on")));
    }
}

#[test]
fn call_of_a_service_without_instances_ends_early() {
    let backend = Backend::Static(Vec::new());
    let discovery =
        Discovery::start(Config { backend, ..Config::default() }).expect("an empty list is a list");
    let client = hasty(ClientConfig::discovered(discovery));
    let began = Instant::now();
    let error = unavailable(client.service("words").call(&ECHO, &word("")).wait());
    assert!(error.reason.contains("no instance of `words`"), "{error}");
    assert!(began.elapsed() < SOON / 2, "it does not wait for its deadline");
}

#[test]
fn call_waits_a_little_for_a_discovery_that_has_not_answered() {
    let backend = Backend::Etcd { endpoints: vec![format!("http://{}", nobody())], user: None, tls: None };
    let discovery =
        Discovery::start(Config { backend, ..Config::default() }).expect("the settings are right");
    let client = hasty(ClientConfig::discovered(discovery));
    let began = Instant::now();
    let error = unavailable(client.service("words").call(&ECHO, &word("")).wait());
    assert!(error.reason.contains("not known yet"), "{error}");
    assert!(began.elapsed() >= Duration::from_millis(50) && began.elapsed() < SOON / 2);
}

#[test]
fn instances_are_found_by_their_names() {
    let server = serve(echo());
    let name = format!("localhost:{}", server.bound()[0].port());
    let client = hasty(ClientConfig::at_names([name.as_str()]));
    until("it is found", || client.service("words").call(&ECHO, &word("on")).wait() == Ok(word("on")));
    let mut local =
        stadium_rpc::LocalClient::new(ClientConfig { deadline: SOON, ..ClientConfig::at_names([name]) })
            .expect("a loop can be had");
    let words = local.service("words").expect("any name will do");
    let mut answer = Word::default();
    let ticket = local.call(words, &ECHO, &word("on"), &CallOptions::default());
    assert_eq!(local.wait(&ticket, &mut answer), Ok(()));
}

#[test]
fn names_are_looked_up_again_when_a_connection_ends() {
    let server = serve(named("first"));
    let addresses: Arc<Mutex<Vec<SocketAddr>>> = Arc::new(Mutex::new(vec![server.bound()[0]]));
    let mut config = ClientConfig::at_names(["words.internal:7800"]);
    config.resolve = Resolve::by({
        let addresses = Arc::clone(&addresses);
        move |name| {
            assert_eq!(name, "words.internal:7800");
            Ok(addresses.lock().expect("no test panics with it").clone())
        }
    });
    let client = hasty(config);
    let words = client.service("words");
    until("the first is found", || words.call(&ECHO, &word("")).wait() == Ok(word("first")));
    let moved = serve(named("second"));
    *addresses.lock().expect("no test panics with it") = vec![moved.bound()[0]];
    assert_eq!(words.call(&ECHO, &word("")).wait(), Ok(word("first")), "nothing has ended");
    drop(server);
    until("the second is found", || words.call(&ECHO, &word("")).wait() == Ok(word("second")));
}

#[test]
fn a_name_that_is_not_found_is_said() {
    let mut config = ClientConfig::at_names(["words.internal:7800"]);
    config.resolve = Resolve::by(|_| Err(std::io::Error::other("no such host")));
    let client = hasty(config);
    let error = unavailable(client.service("words").call(&ECHO, &word("")).wait());
    assert!(error.to_string().contains("words.internal:7800 is not found: no such host"), "{error}");
}

/// Discovery of a list with `words` at this name.
fn listed(name: &str, resolve: Resolve) -> Discovery {
    let place: HostPort = name.parse().expect("HOST:PORT");
    let words = StaticService { name: "words".into(), version: "1".into(), instances: vec![place.into()] };
    // Nothing but a connection that ends has it looked up again in the time of a test.
    let refresh = Duration::from_secs(3_600);
    let config = Config { backend: Backend::Static(vec![words]), refresh, resolve, ..Config::default() };
    Discovery::start(config).expect("the list is right")
}

#[test]
fn a_listed_name_is_looked_up_again_when_a_connection_ends() {
    let server = serve(named("first"));
    let addresses: Arc<Mutex<Vec<SocketAddr>>> = Arc::new(Mutex::new(vec![server.bound()[0]]));
    let resolve = Resolve::by({
        let addresses = Arc::clone(&addresses);
        move |name| {
            assert_eq!(name, "words.internal:7800");
            Ok(addresses.lock().expect("no test panics with it").clone())
        }
    });
    let client = hasty(ClientConfig::discovered(listed("words.internal:7800", resolve)));
    let words = client.service("words");
    until("the first is found", || words.call(&ECHO, &word("")).wait() == Ok(word("first")));
    let moved = serve(named("second"));
    *addresses.lock().expect("no test panics with it") = vec![moved.bound()[0]];
    assert_eq!(words.call(&ECHO, &word("")).wait(), Ok(word("first")), "nothing has ended");
    drop(server);
    until("the second is found", || words.call(&ECHO, &word("")).wait() == Ok(word("second")));
}

#[test]
fn a_listed_name_that_is_not_found_is_said_in_the_error_and_where_the_choice_is_explained() {
    let resolve = Resolve::by(|_| Err(std::io::Error::other("no such host")));
    let client = hasty(ClientConfig::discovered(listed("words.internal:7800", resolve)));
    let words = client.service("words");
    let missing = "words.internal:7800 is not found: no such host";
    let error = unavailable(words.call(&ECHO, &word("")).wait());
    assert!(error.to_string().contains(missing), "{error}");
    let explained = words.explain(None, SOON).expect("the client answers");
    assert!(explained.discovery.contains(missing), "{explained:?}");
}

#[test]
fn a_name_that_is_no_host_and_port_is_refused_when_the_client_starts() {
    for (name, expected) in [("words.internal", "port is missing"), (":7800", "host is missing")] {
        let error = Client::start(ClientConfig::at_names([name])).expect_err("it is no HOST:PORT");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains(name) && error.to_string().contains(expected), "{error}");
    }
}
