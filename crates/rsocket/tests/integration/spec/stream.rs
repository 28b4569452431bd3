//! Request-stream, and credit.
//!
//! Credit on a channel, where both sides need it, is in `channel.rs`.

use stadium_rsocket::connection::{Scope, SendError, Violation};
use stadium_rsocket::frame::{Completes, ErrorCode, Frame, Interaction, More, StreamId, kind};
use stadium_rsocket::{Event, Tag};

use crate::spec::support::{Side, complete, error, last, next, payload, request_stream, value};

const ID: StreamId = StreamId(1);

fn try_say(side: &mut Side, completes: Completes) -> Result<(), SendError> {
    side.connection.payload(ID, completes, None, |out| out.push(b'v'), &mut side.out)
}

/// [STREAM-1] [CREDIT-1]
#[test]
fn a_stream_brings_as_many_values_as_were_asked_for() {
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 3, b"ask");
    let asked = client.sent_frame();
    assert_eq!(asked, request_stream(1, 3));
    let mut server = Side::server();
    let event = server.hear(asked);
    assert!(matches!(event, Some(Event::Request { initial: 3, completes: Completes::Yes, .. })));
    for left in [3, 2, 1] {
        assert_eq!(server.connection.credit(ID), left);
        assert_eq!(try_say(&mut server, Completes::No), Ok(()));
    }
    assert_eq!(try_say(&mut server, Completes::No), Err(SendError::NoCredit));
    for frame in server.sent_frames() {
        assert_eq!(client.hear(frame), value(1, 77, Completes::No, b"v"));
    }
}

/// [CREDIT-2]
#[test]
fn credit_adds_up() {
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 1, b"ask");
    client.sent_frames();
    client.connection.request_n(ID, 3, &mut client.out).expect("open");
    client.connection.request_n(ID, 2, &mut client.out).expect("open");
    client.connection.request_n(ID, 0, &mut client.out).expect("open");
    let frames = client.sent_frames();
    assert_eq!(frames, [Frame::RequestN { stream: ID, n: 3 }, Frame::RequestN { stream: ID, n: 2 }]);
    let mut server = Side::server();
    server.hear(request_stream(1, 1));
    server.connection.set_tag(ID, Tag(4));
    assert_eq!(server.hear(frames[0]), Some(Event::Credit { stream: ID, tag: Tag(4), n: 3 }));
    assert_eq!(server.hear(frames[1]), Some(Event::Credit { stream: ID, tag: Tag(4), n: 2 }));
    assert_eq!(server.connection.credit(ID), 6);
    for _ in 0..6 {
        assert_eq!(try_say(&mut server, Completes::No), Ok(()));
    }
    assert_eq!(try_say(&mut server, Completes::No), Err(SendError::NoCredit));
}

/// [CREDIT-3]
#[test]
fn credit_stops_at_its_greatest_value_and_is_endless_there() {
    let mut server = Side::server();
    server.hear(request_stream(1, 0x7FFF_FFFE));
    assert_eq!(server.connection.credit(ID), 0x7FFF_FFFE);
    for _ in 0..3 {
        server.hear(Frame::RequestN { stream: ID, n: 0x7FFF_FFFF });
        assert_eq!(server.connection.credit(ID), 0x7FFF_FFFF);
    }
    try_say(&mut server, Completes::No).expect("credit");
    assert_eq!(server.connection.credit(ID), 0x7FFF_FFFF);
}

/// [CREDIT-4]
#[test]
fn nobody_asks_for_nothing() {
    for (kind, body) in [(kind::REQUEST_STREAM, b"\0\0\0\0ask"), (kind::REQUEST_CHANNEL, b"\0\0\0\0ask")] {
        let mut server = Side::server();
        assert_eq!(server.hear_raw(1, kind, 0, body), None);
        let text = "request n must be between 1 and 2147483647";
        assert_eq!(server.sent_frame(), error(1, ErrorCode::INVALID, text));
        assert_eq!(server.hear_raw(3, kind, 0, b"\x80\0\0\0ask"), None);
        assert_eq!(server.sent_frame(), error(3, ErrorCode::INVALID, text));
    }
    let mut server = Side::server();
    server.hear(request_stream(1, 1));
    let event = server.hear_raw(1, kind::REQUEST_N, 0, b"\0\0\0\0");
    assert!(matches!(event, Some(Event::Failed { stream: ID, code: ErrorCode::INVALID, .. })), "{event:?}");
    assert!(matches!(server.sent_frame(), Frame::Error { stream: ID, code: ErrorCode::INVALID, .. }));
    assert_eq!(server.connection.streams_open(), 0);
    // What we send never asks for nothing.
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 0, b"ask");
    assert_eq!(client.sent_frame(), request_stream(1, 1));
}

/// [CREDIT-5]
#[test]
fn more_values_than_were_asked_for_end_the_connection() {
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 2, b"ask");
    client.sent_frames();
    assert!(client.hear(next(1, b"a")).is_some());
    assert!(client.hear(next(1, b"b")).is_some());
    let event = client.hear(next(1, b"c"));
    assert_eq!(client.ended(event, ErrorCode::CONNECTION_ERROR), Violation::Overrun(ID));
    // The completion needs no credit.
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 1, b"ask");
    assert!(client.hear(next(1, b"a")).is_some());
    assert!(client.hear(complete(1)).is_some());
    assert_eq!(client.connection.streams_open(), 0);
}

/// [STREAM-2]
#[test]
fn a_stream_completes_with_a_value_or_without() {
    for with_value in [true, false] {
        let mut server = Side::server();
        server.hear(request_stream(1, 1));
        if with_value {
            server.say(1, Completes::Yes, b"end");
        } else {
            server.connection.complete(ID, &mut server.out).expect("open");
        }
        assert_eq!(server.connection.streams_open(), 0);
        let frame = server.sent_frame();
        assert_eq!(frame, if with_value { last(1, b"end") } else { complete(1) });
        let mut client = Side::client();
        client.ask(Interaction::RequestStream, 1, b"");
        let event = client.hear(frame);
        assert!(matches!(event, Some(Event::Payload { completes: Completes::Yes, .. })));
        assert_eq!(client.connection.streams_open(), 0);
        assert_eq!(client.hear(frame), None);
    }
}

/// [STREAM-3]
#[test]
fn a_cancelled_stream_ends_on_both_sides() {
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 9, b"");
    client.hear(next(1, b"a"));
    client.sent_frames();
    client.connection.cancel(ID, &mut client.out).expect("open");
    let cancel = client.sent_frame();
    assert_eq!(cancel, Frame::Cancel { stream: ID });
    assert_eq!(client.hear(next(1, b"late")), None);
    let mut server = Side::server();
    server.hear(request_stream(1, 9));
    server.connection.set_tag(ID, Tag(8));
    let cancelled = Event::Cancelled { stream: ID, tag: Tag(8), scope: Scope::Stream };
    assert_eq!(server.hear(cancel), Some(cancelled));
    assert_eq!(try_say(&mut server, Completes::No), Err(SendError::UnknownStream));
}

/// [STREAM-4]
#[test]
fn credit_for_a_stream_that_is_over_is_ignored() {
    let mut server = Side::server();
    server.hear(request_stream(1, 1));
    server.say(1, Completes::Yes, b"");
    assert_eq!(server.hear(Frame::RequestN { stream: ID, n: 5 }), None);
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 1, b"");
    client.hear(complete(1));
    client.sent_frames();
    let out = &mut client.out;
    assert_eq!(client.connection.request_n(ID, 5, out), Err(SendError::UnknownStream));
    client.is_silent();
}

/// [STREAM-5]
#[test]
fn a_responder_does_not_cancel_a_stream() {
    let mut server = Side::server();
    server.hear(request_stream(1, 1));
    let out = &mut server.out;
    assert_eq!(server.connection.cancel(ID, out), Err(SendError::UnknownStream));
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 1, b"");
    assert_eq!(client.hear(Frame::Cancel { stream: ID }), None);
    assert_eq!(client.connection.streams_open(), 1);
}

/// [CREDIT-6]
#[test]
fn a_value_in_fragments_takes_one_of_the_credit() {
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 1, b"");
    let fragment = |more, completes| Frame::Payload {
        stream: ID,
        more,
        completes,
        next: stadium_rsocket::frame::Next::Value,
        payload: payload(b"x"),
    };
    for _ in 0..5 {
        assert_eq!(client.hear(fragment(More::Follows, Completes::No)), None);
    }
    assert!(client.hear(fragment(More::Whole, Completes::Yes)).is_some());
    let mut server = Side::server_with(
        stadium_rsocket::Config { fragment_bytes: 64, ..Default::default() },
        crate::spec::support::SETUP,
    );
    server.hear(request_stream(1, 2));
    server.say(1, Completes::No, &[1; 500]);
    assert_eq!(server.connection.credit(ID), 1);
}
