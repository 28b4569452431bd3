//! LEASE: what a requester may send, and what a responder does when it sends more.
//!
//! A lease across a resumption is in `resume.rs`.

use stadium_rsocket::connection::{Lease, RequestError};
use stadium_rsocket::frame::{
    Completes, ErrorCode, Frame, Interaction, More, Next, Setup, StreamId, WantsLease,
};
use stadium_rsocket::{Config, Event, Tag};

use crate::spec::support::{SETUP, Side, payload, request_channel, request_response, request_stream};

fn honouring() -> Side {
    Side::client_with(Config { lease: Lease::Honour, ..Config::default() })
}

fn granting() -> Side {
    let config = Config { lease: Lease::Grant, ..Config::default() };
    Side::server_with(config, Setup { lease: WantsLease::Yes, ..SETUP })
}

fn lease(ttl_ms: u32, requests: u32) -> Frame<'static> {
    Frame::Lease { ttl_ms, requests, metadata: None }
}

fn try_ask(side: &mut Side, interaction: Interaction) -> Result<StreamId, RequestError> {
    side.connection.request(interaction, 1, Completes::No, Tag(1), None, |_| {}, &mut side.out)
}

fn none(retry_after_ms: u32) -> Result<StreamId, RequestError> {
    Err(RequestError::NoLease { retry_after_ms })
}

const RR: Interaction = Interaction::RequestResponse;

/// [LEASE-1]
#[test]
fn a_client_that_honours_leases_waits_for_one() {
    let mut client = Side::connecting(Config { lease: Lease::Honour, ..Config::default() });
    assert!(matches!(client.sent_frame(), Frame::Setup(Setup { lease: WantsLease::Yes, .. })));
    for interaction in
        [RR, Interaction::FireAndForget, Interaction::RequestStream, Interaction::RequestChannel]
    {
        assert_eq!(try_ask(&mut client, interaction), none(0));
    }
    client.is_silent();
    assert_eq!(client.hear(lease(1_000, 1)), Some(Event::Lease { ttl_ms: 1_000, requests: 1 }));
    assert_eq!(try_ask(&mut client, RR), Ok(StreamId(1)));
}

/// [LEASE-2]
#[test]
fn a_client_that_does_without_leases_sends_at_once() {
    let mut client = Side::client();
    assert_eq!(try_ask(&mut client, RR), Ok(StreamId(1)));
    // A LEASE that nobody asked for changes nothing.
    assert_eq!(client.hear(lease(1, 0)), None);
    assert_eq!(try_ask(&mut client, RR), Ok(StreamId(3)));
}

/// [LEASE-3]
#[test]
fn a_requester_sends_no_more_than_its_lease_allows() {
    let mut client = honouring();
    client.hear(lease(1_000, 4));
    for interaction in
        [RR, Interaction::FireAndForget, Interaction::RequestStream, Interaction::RequestChannel]
    {
        assert!(try_ask(&mut client, interaction).is_ok());
    }
    client.now_ms = 300;
    client.wait(0);
    assert_eq!(try_ask(&mut client, RR), none(700));
}

/// [LEASE-4]
#[test]
fn a_lease_ends_with_its_time() {
    let mut client = honouring();
    client.hear(lease(1_000, 100));
    assert_eq!(client.connection.deadline_ms(), Some(1_000));
    client.wait(999);
    assert!(try_ask(&mut client, RR).is_ok());
    client.wait(1);
    assert_eq!(try_ask(&mut client, RR), none(0));
}

/// [LEASE-5]
#[test]
fn the_last_lease_replaces_the_one_before() {
    let mut client = honouring();
    client.hear(lease(1_000, 100));
    client.hear(lease(500, 1));
    assert!(try_ask(&mut client, RR).is_ok());
    assert_eq!(try_ask(&mut client, RR), none(500));
    client.hear(lease(500, 2));
    assert!(try_ask(&mut client, RR).is_ok());
}

/// [LEASE-6]
#[test]
fn a_lease_of_nothing_stops_requests() {
    for nothing in [lease(0, 10), lease(1_000, 0)] {
        let mut client = honouring();
        client.hear(lease(1_000, 100));
        client.hear(nothing);
        assert!(matches!(try_ask(&mut client, RR), Err(RequestError::NoLease { .. })));
    }
}

/// [LEASE-7]
#[test]
fn a_responder_rejects_what_no_lease_allows() {
    let mut server = granting();
    for (stream, request) in
        [(1, request_response(1, b"")), (3, request_stream(3, 1)), (5, request_channel(5, 1))]
    {
        assert_eq!(server.hear(request), None);
        let Frame::Error { stream: refused, code, data } = server.sent_frame() else { panic!("an ERROR") };
        assert_eq!((refused, code), (StreamId(stream), ErrorCode::REJECTED));
        assert_eq!(data, b"BUSY retry_after_ms=0: lease is used up or over");
    }
    server.connection.grant_lease(1_000, 2, &mut server.out);
    assert_eq!(server.sent_frame(), lease(1_000, 2));
    assert!(server.hear(request_response(7, b"")).is_some());
    assert!(server.hear(request_response(9, b"")).is_some());
    assert_eq!(server.hear(request_response(11, b"")), None);
    let Frame::Error { data, .. } = server.sent_frame() else { panic!("an ERROR") };
    assert_eq!(data, b"BUSY retry_after_ms=1000: lease is used up or over");
    // The time counts too.
    server.connection.grant_lease(1_000, 5, &mut server.out);
    server.now_ms = 1_000;
    server.sent_frames();
    assert_eq!(server.hear(request_response(13, b"")), None);
    assert!(matches!(server.sent_frame(), Frame::Error { code: ErrorCode::REJECTED, .. }));
}

/// [LEASE-7]
#[test]
fn a_fire_and_forget_that_no_lease_allows_is_dropped() {
    let mut server = granting();
    let fired = Frame::RequestFireAndForget { stream: StreamId(1), more: More::Whole, payload: payload(b"") };
    assert_eq!(server.hear(fired), None);
    server.is_silent();
}

/// [LEASE-8]
#[test]
fn the_server_waits_for_a_lease_of_the_client_too() {
    let mut server = granting();
    assert_eq!(try_ask(&mut server, RR), none(0));
    server.hear(lease(1_000, 1));
    assert_eq!(try_ask(&mut server, RR), Ok(StreamId(2)));
    assert_eq!(try_ask(&mut server, RR), none(1_000));
    // And the client grants it.
    let mut client = honouring();
    client.connection.grant_lease(50, 3, &mut client.out);
    assert_eq!(client.sent_frame(), lease(50, 3));
}

/// [LEASE-9]
#[test]
fn a_server_with_leases_serves_clients_without() {
    let mut server = Side::server_with(Config { lease: Lease::Grant, ..Config::default() }, SETUP);
    assert!(!server.connection.is_leased());
    server.connection.grant_lease(1_000, 0, &mut server.out);
    server.is_silent();
    assert!(server.hear(request_response(1, b"")).is_some());
    assert_eq!(try_ask(&mut server, RR), Ok(StreamId(2)));
}

/// [LEASE-10]
#[test]
fn a_request_in_fragments_takes_one_of_a_lease() {
    let mut server = granting();
    server.connection.grant_lease(1_000, 2, &mut server.out);
    let stream = StreamId(1);
    server.hear(Frame::RequestResponse { stream, more: More::Follows, payload: payload(b"a") });
    for more in [More::Follows, More::Follows, More::Whole] {
        let (completes, next) = (Completes::No, Next::Value);
        server.hear(Frame::Payload { stream, more, completes, next, payload: payload(b"b") });
    }
    assert!(server.hear(request_response(3, b"")).is_some());
    assert_eq!(server.hear(request_response(5, b"")), None);
}
