//! Request-channel: values both ways, each side granting credit to the other.
//!
//! Most scenarios have both sides, and carry each frame from one to the other.

use stadium_rsocket::connection::{Scope, SendError, Violation};
use stadium_rsocket::frame::{Completes, ErrorCode, Frame, Interaction, More, StreamId};
use stadium_rsocket::{Event, Tag};

use crate::spec::support::{Side, complete, error, last, next, payload, request_channel, value};

const ID: StreamId = StreamId(1);

fn try_say(side: &mut Side, completes: Completes) -> Result<(), SendError> {
    side.connection.payload(ID, completes, None, |out| out.push(b'v'), &mut side.out)
}

/// A client with a channel, and the server that heard of it; both have been looked at.
fn channel() -> (Side, Side) {
    let (mut client, mut server) = (Side::client(), Side::server());
    client.ask(Interaction::RequestChannel, 2, b"first");
    let asked = client.sent_frame();
    assert_eq!(asked, request_channel(1, 2));
    let event = server.hear(asked);
    assert!(matches!(event, Some(Event::Request { initial: 2, completes: Completes::No, .. })), "{event:?}");
    server.connection.set_tag(ID, Tag(6));
    (client, server)
}

/// [CHANNEL-1]
#[test]
fn a_requester_waits_for_credit_after_its_first_value() {
    let (mut client, mut server) = channel();
    assert_eq!(try_say(&mut client, Completes::No), Err(SendError::NoCredit));
    server.connection.request_n(ID, 2, &mut server.out).expect("open");
    let credit = Event::Credit { stream: ID, tag: Tag(77), n: 2 };
    assert_eq!(client.hear(server.sent_frame()), Some(credit));
    assert_eq!(try_say(&mut client, Completes::No), Ok(()));
    assert_eq!(try_say(&mut client, Completes::No), Ok(()));
    assert_eq!(try_say(&mut client, Completes::No), Err(SendError::NoCredit));
    for frame in client.sent_frames() {
        assert_eq!(frame, next(1, b"v"));
        assert_eq!(server.hear(frame), value(1, 6, Completes::No, b"v"));
    }
}

/// [CHANNEL-2]
#[test]
fn a_responder_sends_as_the_requester_asks() {
    let (mut client, mut server) = channel();
    assert_eq!(try_say(&mut server, Completes::No), Ok(()));
    assert_eq!(try_say(&mut server, Completes::No), Ok(()));
    assert_eq!(try_say(&mut server, Completes::No), Err(SendError::NoCredit));
    client.connection.request_n(ID, 1, &mut client.out).expect("open");
    server.hear(client.sent_frame());
    assert_eq!(try_say(&mut server, Completes::No), Ok(()));
    for frame in server.sent_frames() {
        assert_eq!(client.hear(frame), value(1, 77, Completes::No, b"v"));
    }
}

/// [CHANNEL-3]
#[test]
fn a_channel_ends_when_both_sides_are_complete() {
    let (mut client, mut server) = channel();
    client.connection.complete(ID, &mut client.out).expect("open");
    assert_eq!(client.connection.streams_open(), 1);
    let frame = client.sent_frame();
    assert_eq!(frame, complete(1));
    assert!(matches!(server.hear(frame), Some(Event::Payload { completes: Completes::Yes, .. })));
    assert_eq!(server.connection.streams_open(), 1);
    server.say(1, Completes::Yes, b"end");
    assert_eq!(server.connection.streams_open(), 0);
    assert_eq!(client.hear(server.sent_frame()), value(1, 77, Completes::Yes, b"end"));
    assert_eq!(client.connection.streams_open(), 0);
}

/// [CHANNEL-3]
#[test]
fn a_responder_may_complete_first() {
    let (mut client, mut server) = channel();
    server.connection.complete(ID, &mut server.out).expect("open");
    client.hear(server.sent_frame());
    server.connection.request_n(ID, 1, &mut server.out).expect("the requester still sends");
    client.hear(server.sent_frame());
    assert_eq!(client.connection.request_n(ID, 1, &mut client.out), Err(SendError::UnknownStream));
    client.say(1, Completes::Yes, b"end");
    assert_eq!(client.connection.streams_open(), 0);
    assert_eq!(server.hear(client.sent_frame()), value(1, 6, Completes::Yes, b"end"));
    assert_eq!(server.connection.streams_open(), 0);
}

/// [CHANNEL-4]
#[test]
fn a_channel_may_be_complete_from_the_start() {
    let mut client = Side::client();
    let (interaction, completes, tag, out) =
        (Interaction::RequestChannel, Completes::Yes, Tag(77), &mut client.out);
    client.connection.request(interaction, 2, completes, tag, None, |_| {}, out).expect("open");
    let asked = client.sent_frame();
    let more = More::Whole;
    assert_eq!(
        asked,
        Frame::RequestChannel { stream: ID, more, completes, initial: 2, payload: payload(b"") }
    );
    assert_eq!(try_say(&mut client, Completes::No), Err(SendError::UnknownStream));
    let mut server = Side::server();
    assert!(matches!(server.hear(asked), Some(Event::Request { completes: Completes::Yes, .. })));
    assert_eq!(server.connection.request_n(ID, 1, &mut server.out), Err(SendError::UnknownStream));
    server.say(1, Completes::Yes, b"end");
    assert_eq!(server.connection.streams_open(), 0);
    client.hear(server.sent_frame());
    assert_eq!(client.connection.streams_open(), 0);
}

/// [CHANNEL-5]
#[test]
fn nothing_is_sent_after_a_completion() {
    let (mut client, mut server) = channel();
    server.connection.request_n(ID, 9, &mut server.out).expect("open");
    client.hear(server.sent_frame());
    client.say(1, Completes::Yes, b"end");
    client.sent_frames();
    assert_eq!(try_say(&mut client, Completes::No), Err(SendError::UnknownStream));
    assert_eq!(client.connection.complete(ID, &mut client.out), Err(SendError::UnknownStream));
    client.is_silent();
    // And what comes after one is ignored.
    server.hear(last(1, b"end"));
    assert_eq!(server.hear(next(1, b"more")), None);
    assert_eq!(server.hear(complete(1)), None);
}

/// [CHANNEL-6]
#[test]
fn an_error_of_either_side_ends_the_channel() {
    let code = ErrorCode::APPLICATION_ERROR;
    let (mut client, mut server) = channel();
    client.connection.error(ID, code, "no", &mut client.out).expect("open");
    assert_eq!(client.connection.streams_open(), 0);
    let failed = Event::Failed { stream: ID, tag: Tag(6), code, text: b"no" };
    assert_eq!(server.hear(client.sent_frame()), Some(failed));
    assert_eq!(server.connection.streams_open(), 0);

    let (mut client, mut server) = channel();
    client.connection.complete(ID, &mut client.out).expect("open");
    server.hear(client.sent_frame());
    server.connection.error(ID, code, "no", &mut server.out).expect("open");
    let failed = Event::Failed { stream: ID, tag: Tag(77), code, text: b"no" };
    assert_eq!(client.hear(server.sent_frame()), Some(failed));
    assert_eq!(client.connection.streams_open(), 0);
    assert_eq!(client.hear(error(1, code, "no")), None);
}

/// [CHANNEL-7]
#[test]
fn a_requesters_cancel_ends_the_channel() {
    let (mut client, mut server) = channel();
    client.connection.cancel(ID, &mut client.out).expect("open");
    assert_eq!(client.connection.streams_open(), 0);
    let cancelled = Event::Cancelled { stream: ID, tag: Tag(6), scope: Scope::Stream };
    assert_eq!(server.hear(client.sent_frame()), Some(cancelled));
    assert_eq!(server.connection.streams_open(), 0);
    // Also after it has completed.
    let (mut client, mut server) = channel();
    client.connection.complete(ID, &mut client.out).expect("open");
    client.connection.cancel(ID, &mut client.out).expect("open");
    for frame in client.sent_frames() {
        server.hear(frame);
    }
    assert_eq!(server.connection.streams_open(), 0);
}

/// [CHANNEL-8]
#[test]
fn a_responders_cancel_stops_the_requesters_values_only() {
    let (mut client, mut server) = channel();
    server.connection.request_n(ID, 5, &mut server.out).expect("open");
    client.hear(server.sent_frame());
    server.connection.cancel(ID, &mut server.out).expect("open");
    assert_eq!(server.connection.streams_open(), 1);
    let cancelled = Event::Cancelled { stream: ID, tag: Tag(77), scope: Scope::Sending };
    assert_eq!(client.hear(server.sent_frame()), Some(cancelled));
    assert_eq!(try_say(&mut client, Completes::No), Err(SendError::UnknownStream));
    // A value that was under way means nothing any more.
    assert_eq!(server.hear(next(1, b"late")), None);
    server.say(1, Completes::Yes, b"end");
    assert_eq!(client.hear(server.sent_frame()), value(1, 77, Completes::Yes, b"end"));
    assert_eq!((client.connection.streams_open(), server.connection.streams_open()), (0, 0));
    // If the responder is complete, it ends the stream.
    let (mut client, mut server) = channel();
    server.connection.complete(ID, &mut server.out).expect("open");
    server.connection.cancel(ID, &mut server.out).expect("open");
    let events: Vec<_> = server.sent_frames().into_iter().map(|frame| client.hear(frame)).collect();
    let cancelled = Event::Cancelled { stream: ID, tag: Tag(77), scope: Scope::Stream };
    assert_eq!(events[1], Some(cancelled));
    assert_eq!((client.connection.streams_open(), server.connection.streams_open()), (0, 0));
}

/// [CHANNEL-9]
#[test]
fn more_values_than_the_responder_asked_for_end_the_connection() {
    let (_, mut server) = channel();
    let event = server.hear(next(1, b"too early"));
    assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::Overrun(ID));
}
