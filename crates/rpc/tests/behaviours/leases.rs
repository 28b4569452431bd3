//! Clients that ask for leases send no request without one.

use std::time::Duration;

use stadium_rpc::{CallError, CallOptions, Method, ServerConfig};
use stadium_rsocket::connection::{Config, Lease, SetupOptions};

use crate::fixture::*;
use crate::plain::{Got, Plain};

#[test]
fn client_with_leases_is_served() {
    let server = serve(echo());
    let mut config = client_config(&[&server]);
    config.leases = true;
    let words = connected_client(&[&server], config).service("words");
    let calls: Vec<_> = (0..3_000).map(|round| words.call(&ECHO, &number(round))).collect();
    for (round, call) in (0..).zip(calls) {
        assert_eq!(answer(call), Ok(number(round)), "call {round}");
    }
}

#[test]
fn lease_is_granted_with_the_setup_and_again_and_again() {
    let server = serve(echo());
    let config = Config { lease: Lease::Honour, ..Config::default() };
    let mut plain = Plain::dial_with(server.bound()[0], config, &SetupOptions::default());
    for _ in 0..3 {
        assert!(matches!(plain.next(), Got::Other(event) if event.starts_with("Lease")));
    }
    plain.ask("words/Echo", 0, &word("leased"));
    until("it is answered", || matches!(plain.next(), Got::Message { .. }));
}

#[test]
fn quiescing_instance_grants_no_more() {
    let (bell, begun) = (Bell::default(), Tally::default());
    let server = serve(named_waiting("held", &bell, &begun));
    let mut config = client_config(&[&server]);
    config.leases = true;
    let words = connected_client(&[&server], config).service("words");
    let held = call_begun(&words, &begun);
    server.quiesce(Duration::ZERO);
    until("it quiesces", || server.is_quiescing());
    // The last lease runs out; what comes then is not sent.
    until("nothing is granted any more", || {
        let options = CallOptions { deadline: Some(Duration::from_millis(100)), ..CallOptions::default() };
        let health = Method::<(), stadium_rpc::proto::Health>::unary("words/health");
        matches!(words.call_with(&health, &(), &options).wait(), Err(CallError::Unavailable(_)))
    });
    bell.ring();
    assert_eq!(answer(held), Ok(word("held")));
}

#[test]
fn server_without_leases_refuses_clients_that_want_them() {
    let server = serve_with(ServerConfig { leases: false, ..server_config() }, echo());
    let config = Config { lease: Lease::Honour, ..Config::default() };
    let mut plain = Plain::dial_with(server.bound()[0], config, &SetupOptions::default());
    assert_eq!(plain.next(), Got::Closed);
}
