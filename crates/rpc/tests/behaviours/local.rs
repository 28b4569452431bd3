//! The client on its caller's own thread.

use std::time::Duration;

use stadium_rpc::{CallError, CallOptions, ClientConfig, LocalClient};

use crate::fixture::*;

#[test]
fn call_is_answered_while_its_caller_waits() {
    let server = serve(echo());
    let mut client = LocalClient::new(client_config(&[&server])).expect("a loop can be had");
    let words = client.service("words").expect("a static list takes any name");
    let mut answer = Word::default();
    for round in 0..100 {
        let ticket = client.call(words, &ECHO, &number(round), &none());
        assert_eq!(client.wait(&ticket, &mut answer), Ok(()));
        assert_eq!(answer, number(round));
    }
    assert_eq!(client.calls(), 0);
}

#[test]
fn calls_are_taken_in_the_order_of_their_ends() {
    let server = serve(echo());
    let mut client = LocalClient::new(client_config(&[&server])).expect("a loop can be had");
    let words = client.service("words").expect("a static list takes any name");
    let mut tickets: Vec<_> = (0..500)
        .map(|round| {
            let options = CallOptions { tag: round, ..none() };
            Some(client.call(words, &ECHO, &number(round), &options))
        })
        .collect();
    let mut answer = Word::default();
    for _ in 0..500 {
        let done = client.next(SOON).expect("the loop turns").expect("one is done");
        let round = done.tag();
        let ticket = tickets[round as usize].take().expect("each is reported once");
        assert!(done.is_answered());
        assert_eq!(client.read(done, &mut answer), Ok(()));
        assert_eq!(answer, number(round));
        assert_eq!(client.wait(&ticket, &mut answer), Err(CallError::Cancelled), "it is reported once");
    }
    assert_eq!(client.calls(), 0);
    assert!(client.done().is_none());
}

#[test]
fn answer_that_is_read_too_late_is_not_anothers() {
    let server = serve(echo());
    let mut client = LocalClient::new(client_config(&[&server])).expect("a loop can be had");
    let words = client.service("words").expect("a static list takes any name");
    let mut answer = Word::default();
    client.call(words, &ECHO, &number(1), &none());
    let done = client.next(SOON).expect("the loop turns").expect("one is done");
    let second = client.call(words, &ECHO, &number(2), &none());
    assert_eq!(client.wait(&second, &mut answer), Ok(()));
    assert_eq!(answer, number(2));
    assert!(matches!(client.read(done, &mut answer), Err(CallError::Protocol(_))));
}

#[test]
fn failures_come_to_the_caller_too() {
    let server = serve(echo());
    let mut client = LocalClient::new(client_config(&[&server])).expect("a loop can be had");
    let words = client.service("words").expect("a static list takes any name");
    let mut answer = Word::default();
    let unknown = stadium_rpc::Method::<Word, Word>::unary("words/Nothing");
    let ticket = client.call(words, &unknown, &word(""), &none());
    assert_eq!(rejection(client.wait(&ticket, &mut answer)).0, "RPC-002");

    let mut lost = LocalClient::new(ClientConfig::at(vec![nobody()])).expect("a loop can be had");
    let words = lost.service("words").expect("a static list takes any name");
    let options = CallOptions { deadline: Some(Duration::from_millis(50)), ..none() };
    let ticket = lost.call(words, &ECHO, &word(""), &options);
    let ended = lost.wait(&ticket, &mut answer);
    assert!(matches!(ended, Err(CallError::Unavailable(_))), "{ended:?}");
}

#[test]
fn several_services_share_a_client() {
    let (one, two) = (serve(echo()), serve(echo()));
    let mut client = LocalClient::new(client_config(&[&one, &two])).expect("a loop can be had");
    let first = client.service("words").expect("a static list takes any name");
    let second = client.service("words").expect("a static list takes any name");
    let mut answer = Word::default();
    for service in [first, second] {
        let ticket = client.call(service, &ECHO, &word("a"), &none());
        assert_eq!(client.wait(&ticket, &mut answer), Ok(()));
    }
}

fn none() -> CallOptions<'static> {
    CallOptions::default()
}
