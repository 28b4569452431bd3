//! ERROR frames: which of them end a stream, which end the connection, and the text that they carry.
//!
//! How SETUP is refused is in `setup`.

use stadium_rsocket::connection::{Closed, RequestError, SendError};
use stadium_rsocket::frame::{Completes, ErrorCode, Frame, Interaction, StreamId};
use stadium_rsocket::{Event, Tag};

use crate::spec::support::{
    Side, error, last, next, request_channel, request_response, request_stream, value,
};

/// [ERROR-1]
#[test]
fn an_error_of_the_connection_ends_it() {
    for code in [ErrorCode::CONNECTION_ERROR, ErrorCode(0x201), ErrorCode(0x12345)] {
        let mut client = Side::client();
        client.ask(Interaction::RequestStream, 5, b"");
        client.sent_frames();
        let closed = Closed::Peer { code, text: b"bye" };
        assert_eq!(client.hear(error(0, code, "bye")), Some(Event::Closed(closed)));
        assert!(client.connection.is_closed());
        assert_eq!(client.hear(next(1, b"late")), None);
        assert_eq!(client.connection.cancel(StreamId(1), &mut client.out), Err(SendError::UnknownStream));
        client.is_silent();
    }
}

/// [ERROR-2]
#[test]
fn a_close_of_the_peer_lets_streams_end() {
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 5, b"");
    client.sent_frames();
    let closing = error(0, ErrorCode::CONNECTION_CLOSE, "moving");
    assert_eq!(client.hear(closing), Some(Event::Closing { text: b"moving" }));
    let out = &mut client.out;
    let refused =
        client.connection.request(Interaction::RequestResponse, 1, Completes::No, Tag(1), None, |_| {}, out);
    assert_eq!(refused, Err(RequestError::Closed));
    assert_eq!(client.hear(next(1, b"a")), value(1, 77, Completes::No, b"a"));
    assert_eq!(client.hear(last(1, b"b")), value(1, 77, Completes::Yes, b"b"));
    assert_eq!(client.connection.streams_open(), 0);
}

/// [ERROR-3]
#[test]
fn our_close_lets_streams_end_and_refuses_new_ones() {
    let mut server = Side::server();
    server.hear(request_stream(1, 5));
    server.connection.close(ErrorCode::CONNECTION_CLOSE, "moving", &mut server.out);
    assert_eq!(server.sent_frame(), error(0, ErrorCode::CONNECTION_CLOSE, "moving"));
    assert_eq!(server.hear(request_response(3, b"")), None);
    let Frame::Error { stream: StreamId(3), code: ErrorCode::REJECTED, data } = server.sent_frame() else {
        panic!("a request while closing is refused")
    };
    assert_eq!(data, b"BUSY retry_after_ms=0: connection is closing");
    server.say(1, Completes::Yes, b"last");
    assert_eq!(server.sent_frame(), last(1, b"last"));
    assert_eq!(server.connection.streams_open(), 0);
}

/// [ERROR-3]
#[test]
fn an_error_of_ours_ends_everything() {
    let mut server = Side::server();
    server.hear(request_stream(1, 5));
    server.connection.close(ErrorCode::CONNECTION_ERROR, "broken", &mut server.out);
    assert_eq!(server.sent_frame(), error(0, ErrorCode::CONNECTION_ERROR, "broken"));
    assert!(server.connection.is_closed());
    let (id, out) = (StreamId(1), &mut server.out);
    assert_eq!(
        server.connection.payload(id, Completes::No, None, |_| {}, out),
        Err(SendError::UnknownStream)
    );
    assert_eq!(server.connection.error(id, ErrorCode::CANCELED, "", out), Err(SendError::UnknownStream));
    assert_eq!(server.connection.complete(id, out), Err(SendError::UnknownStream));
    assert_eq!(server.connection.deadline_ms(), None);
    server.is_silent();
}

/// [ERROR-4]
#[test]
fn an_error_of_a_stream_ends_that_stream() {
    for interaction in [Interaction::RequestResponse, Interaction::RequestStream, Interaction::RequestChannel]
    {
        let mut client = Side::client();
        let stream = client.ask(interaction, 5, b"");
        let (tag, code, text) = (Tag(77), ErrorCode::APPLICATION_ERROR, b"GEO-001: no".as_slice());
        let failed = Event::Failed { stream, tag, code, text };
        assert_eq!(client.hear(error(1, code, "GEO-001: no")), Some(failed));
        assert_eq!(client.connection.streams_open(), 0);
        assert_eq!(client.hear(error(1, code, "again")), None);
    }
}

/// [ERROR-5]
#[test]
fn every_code_of_a_stream_reaches_the_application() {
    for code in [0x201, 0x202, 0x203, 0x204, 0x301, 0xFFFF_FFFE] {
        let mut client = Side::client();
        client.ask(Interaction::RequestResponse, 1, b"");
        let event = client.hear(error(1, ErrorCode(code), "why"));
        assert!(
            matches!(event, Some(Event::Failed { code: ErrorCode(got), text: b"why", .. }) if got == code)
        );
    }
}

/// [ERROR-6]
#[test]
fn an_error_that_is_no_text_is_passed_on() {
    let mut client = Side::client();
    client.ask(Interaction::RequestResponse, 1, b"");
    let data = b"\xFF\x00";
    let event = client.hear(Frame::Error { stream: StreamId(1), code: ErrorCode::INVALID, data });
    assert!(matches!(event, Some(Event::Failed { text: b"\xFF\x00", .. })));
}

/// [ERROR-7]
#[test]
fn a_responder_may_fail_any_stream() {
    for request in [request_response(1, b""), request_stream(1, 1), request_channel(1, 1)] {
        let mut server = Side::server();
        server.hear(request);
        let (id, out) = (StreamId(1), &mut server.out);
        server.connection.error(id, ErrorCode::REJECTED, "BUSY retry_after_ms=120: full", out).expect("open");
        assert_eq!(server.sent_frame(), error(1, ErrorCode::REJECTED, "BUSY retry_after_ms=120: full"));
        assert_eq!(server.connection.streams_open(), 0);
        let out = &mut server.out;
        assert_eq!(server.connection.error(id, ErrorCode::REJECTED, "", out), Err(SendError::UnknownStream));
    }
}

/// [ERROR-8]
#[test]
fn a_requester_may_fail_a_channel_only() {
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 1, b"");
    client.ask(Interaction::RequestChannel, 1, b"");
    client.sent_frames();
    let code = ErrorCode::APPLICATION_ERROR;
    let out = &mut client.out;
    assert_eq!(client.connection.error(StreamId(1), code, "no", out), Err(SendError::UnknownStream));
    assert_eq!(client.connection.error(StreamId(3), code, "no", out), Ok(()));
    assert_eq!(client.sent_frame(), error(3, code, "no"));
    // And hears from a requester accordingly.
    let mut server = Side::server();
    server.hear(request_stream(1, 1));
    server.hear(request_channel(3, 1));
    assert_eq!(server.hear(error(1, code, "no")), None);
    assert!(matches!(server.hear(error(3, code, "no")), Some(Event::Failed { stream: StreamId(3), .. })));
    assert_eq!(server.connection.streams_open(), 1);
}
