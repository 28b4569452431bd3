//! Request-response and fire-and-forget.
//!
//! The interactions with credit are in `stream.rs` and `channel.rs`.

use stadium_rsocket::connection::{Role, SendError};
use stadium_rsocket::frame::{Completes, ErrorCode, Frame, Interaction, More, Next, Payload, StreamId};
use stadium_rsocket::{Event, Tag};

use crate::spec::support::{Side, complete, error, last, next, payload, request_response, value};

/// [RESPONSE-1]
#[test]
fn a_request_has_one_answer() {
    let mut client = Side::client();
    let metadata = Some(b"m".as_slice());
    let write = |out: &mut Vec<u8>| out.extend_from_slice(b"question");
    let (interaction, tag, out) = (Interaction::RequestResponse, Tag(9), &mut client.out);
    let sent = client.connection.request(interaction, 7, Completes::No, tag, metadata, write, out);
    assert_eq!(sent, Ok(StreamId(1)));
    let asked = Frame::RequestResponse {
        stream: StreamId(1),
        more: More::Whole,
        payload: Payload { metadata, data: b"question" },
    };
    assert_eq!(client.sent_frame(), asked);
    assert_eq!(client.connection.tag(StreamId(1)), Some(Tag(9)));

    let mut server = Side::server();
    let request = Event::Request {
        stream: StreamId(1),
        interaction,
        initial: 1,
        completes: Completes::Yes,
        payload: Payload { metadata, data: b"question" }.into(),
        more: More::Whole,
    };
    assert_eq!(server.hear(asked), Some(request));
    server.say(1, Completes::No, b"answer");
    let answer = server.sent_frame();
    assert_eq!(answer, last(1, b"answer"));
    assert_eq!(server.connection.streams_open(), 0);

    assert_eq!(client.hear(answer), value(1, 9, Completes::Yes, b"answer"));
    assert_eq!(client.connection.streams_open(), 0);
    assert_eq!(client.connection.tag(StreamId(1)), None);
}

/// [RESPONSE-1]
#[test]
fn an_answer_may_take_its_time() {
    let mut server = Side::server();
    server.hear(request_response(1, b""));
    server.connection.set_tag(StreamId(1), Tag(5));
    server.hear(request_response(3, b""));
    assert_eq!(server.connection.streams_open(), 2);
    let mut open: Vec<_> = server.connection.streams().collect();
    open.sort_by_key(|stream| stream.0);
    let responder = Role::Responder;
    assert_eq!(open, [(StreamId(1), Tag(5), responder), (StreamId(3), Tag(0), responder)]);
    server.say(3, Completes::Yes, b"second");
    server.say(1, Completes::Yes, b"first");
    assert_eq!(server.sent_frames(), [last(3, b"second"), last(1, b"first")]);
    assert_eq!(server.connection.streams_open(), 0);
}

/// [RESPONSE-2]
#[test]
fn an_answer_ends_the_stream_on_the_responder() {
    let mut server = Side::server();
    server.hear(request_response(1, b""));
    server.say(1, Completes::Yes, b"");
    let (id, out) = (StreamId(1), &mut server.out);
    assert_eq!(
        server.connection.payload(id, Completes::Yes, None, |_| {}, out),
        Err(SendError::UnknownStream)
    );
    assert_eq!(server.hear(Frame::Cancel { stream: id }), None);
}

/// [RESPONSE-3]
#[test]
fn an_answer_may_be_an_error() {
    let mut client = Side::client();
    client.ask(Interaction::RequestResponse, 1, b"");
    let code = ErrorCode::REJECTED;
    let (stream, tag, text) = (StreamId(1), Tag(77), b"BUSY".as_slice());
    assert_eq!(client.hear(error(1, code, "BUSY")), Some(Event::Failed { stream, tag, code, text }));
    assert_eq!(client.connection.streams_open(), 0);
}

/// [RESPONSE-4]
#[test]
fn an_answer_may_be_empty() {
    let mut server = Side::server();
    server.hear(request_response(1, b""));
    server.connection.complete(StreamId(1), &mut server.out).expect("open");
    let answer = server.sent_frame();
    assert_eq!(answer, complete(1));
    let mut client = Side::client();
    client.ask(Interaction::RequestResponse, 1, b"");
    let event = client.hear(answer);
    let Some(Event::Payload { next: Next::Nothing, completes: Completes::Yes, .. }) = event else {
        panic!("{event:?}")
    };
    assert_eq!(client.connection.streams_open(), 0);
}

/// [RESPONSE-5]
#[test]
fn a_cancelled_request_is_not_answered() {
    let mut client = Side::client();
    let stream = client.ask(Interaction::RequestResponse, 1, b"");
    client.sent_frames();
    client.connection.cancel(stream, &mut client.out).expect("open");
    let cancel = client.sent_frame();
    assert_eq!(cancel, Frame::Cancel { stream });
    assert_eq!(client.connection.streams_open(), 0);
    // The answer may have been under way.
    assert_eq!(client.hear(last(1, b"late")), None);

    let mut server = Side::server();
    server.hear(request_response(1, b""));
    server.connection.set_tag(stream, Tag(3));
    let event = server.hear(cancel);
    assert!(matches!(event, Some(Event::Cancelled { stream: StreamId(1), tag: Tag(3), .. })), "{event:?}");
    let out = &mut server.out;
    assert_eq!(
        server.connection.payload(stream, Completes::Yes, None, |_| {}, out),
        Err(SendError::UnknownStream)
    );
    server.is_silent();
}

/// [RESPONSE-6]
#[test]
fn an_answer_without_complete_is_complete() {
    let mut client = Side::client();
    client.ask(Interaction::RequestResponse, 1, b"");
    assert_eq!(client.hear(next(1, b"answer")), value(1, 77, Completes::Yes, b"answer"));
    assert_eq!(client.connection.streams_open(), 0);
    assert_eq!(client.hear(next(1, b"another")), None);
}

/// [RESPONSE-7]
#[test]
fn either_side_may_ask() {
    let mut server = Side::server();
    let stream = server.ask(Interaction::RequestResponse, 1, b"hi");
    let mut client = Side::client();
    assert!(matches!(client.hear(server.sent_frame()), Some(Event::Request { .. })));
    client.say(2, Completes::Yes, b"ho");
    assert_eq!(server.hear(client.sent_frame()), value(2, 77, Completes::Yes, b"ho"));
    assert_eq!(stream, StreamId(2));
}

/// [FORGET-1]
#[test]
fn a_fire_and_forget_leaves_nothing_behind() {
    let mut client = Side::client();
    let stream = client.ask(Interaction::FireAndForget, 1, b"note");
    let fired = client.sent_frame();
    assert_eq!(fired, Frame::RequestFireAndForget { stream, more: More::Whole, payload: payload(b"note") });
    assert_eq!(client.connection.streams_open(), 0);
    let mut server = Side::server();
    let event = server.hear(fired);
    assert!(matches!(event, Some(Event::Request { interaction: Interaction::FireAndForget, .. })));
    assert_eq!(server.connection.streams_open(), 0);
}

/// [FORGET-2]
#[test]
fn a_fire_and_forget_has_no_answer() {
    let mut server = Side::server();
    server.hear(Frame::RequestFireAndForget {
        stream: StreamId(1),
        more: More::Whole,
        payload: payload(b""),
    });
    let (id, out) = (StreamId(1), &mut server.out);
    assert_eq!(
        server.connection.payload(id, Completes::Yes, None, |_| {}, out),
        Err(SendError::UnknownStream)
    );
    assert_eq!(server.connection.error(id, ErrorCode::INVALID, "", out), Err(SendError::UnknownStream));
    server.is_silent();
    let mut client = Side::client();
    client.ask(Interaction::FireAndForget, 1, b"");
    assert_eq!(client.hear(error(1, ErrorCode::INVALID, "no")), None);
}
