//! Framing, the frame header and the metadata header.
//!
//! What each type of frame holds is shown by `vectors.rs`.

use stadium_rsocket::connection::Violation;
use stadium_rsocket::frame::{
    self, Completes, Error, ErrorCode, Frame, Ignorable, Interaction, More, Payload, StreamId, flag, kind,
};
use stadium_rsocket::{Config, Event};

use crate::spec::support::{Side, next, request_response, request_stream, value};

/// [FRAME-1]
#[test]
fn a_frame_stands_behind_its_length() {
    let mut bytes = Vec::new();
    frame::encode(&request_response(1, b"hi"), &mut bytes);
    assert_eq!(bytes, [0, 0, 8, 0, 0, 0, 1, 0x10, 0, b'h', b'i']);
    assert_eq!(frame::split(&bytes, 100), Ok(Some((&bytes[3..], 11))));
    for cut in 0..bytes.len() {
        assert_eq!(frame::split(&bytes[..cut], 100), Ok(None));
    }
    // The same frame without a length, as a WebSocket message brings it.
    let mut server = Side::server();
    let (_, event) = server.connection.receive_frame(1, &bytes[3..], &mut server.out);
    assert!(matches!(event, Some(Event::Request { stream: StreamId(1), .. })));
}

/// [FRAME-2]
#[test]
fn a_frame_may_come_in_any_pieces() {
    let mut bytes = Vec::new();
    frame::encode(&request_response(1, b"hi"), &mut bytes);
    let mut server = Side::server();
    for cut in 0..bytes.len() {
        let received = server.connection.receive(1, &bytes[..cut], &mut server.out);
        assert_eq!((received.used, received.event), (0, None));
    }
    assert!(matches!(server.hear_bytes(&bytes), Some(Event::Request { .. })));
}

/// [FRAME-3]
#[test]
fn a_frame_that_is_too_long_is_refused_at_its_length() {
    let mut server = Side::server_with(
        Config { frame_bytes_max: 1_000, ..Config::default() },
        crate::spec::support::SETUP,
    );
    let event = server.hear_bytes(&[0, 0x03, 0xE9]);
    let violation = server.ended(event, ErrorCode::CONNECTION_ERROR);
    assert_eq!(violation, Violation::Frame(Error::TooLarge { bytes: 1_001 }));
    let mut server = Side::server_with(
        Config { frame_bytes_max: 1_000, ..Config::default() },
        crate::spec::support::SETUP,
    );
    assert!(matches!(server.hear(request_response(1, &[1; 994])), Some(Event::Request { .. })));
}

/// [FRAME-4]
#[test]
fn a_frame_shorter_than_its_header_ends_the_connection() {
    for length in 0..6 {
        let mut server = Side::server();
        let mut bytes = vec![0, 0, length];
        bytes.extend(vec![0; usize::from(length)]);
        let event = server.hear_bytes(&bytes);
        assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::Frame(Error::TooShort));
    }
}

/// [FRAME-4]
#[test]
fn a_frame_that_ends_before_its_fields_ends_the_connection() {
    for (kind, fields) in [
        (kind::REQUEST_STREAM, 4),
        (kind::REQUEST_CHANNEL, 4),
        (kind::REQUEST_N, 4),
        (kind::ERROR, 4),
        (kind::KEEPALIVE, 8),
        (kind::LEASE, 8),
        (kind::RESUME_OK, 8),
        (kind::EXT, 4),
    ] {
        for length in 0..fields {
            let mut server = Side::server();
            let event = server.hear_raw(1, kind, 0, &vec![0; length]);
            server.ended(event, ErrorCode::CONNECTION_ERROR);
        }
    }
}

/// [FRAME-5]
#[test]
fn the_reserved_bit_of_a_stream_id_is_zero() {
    let mut server = Side::server();
    let event = server.hear_raw(0x8000_0001, kind::REQUEST_RESPONSE, 0, b"hi");
    assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::Frame(Error::Reserved));
}

/// [FRAME-6]
#[test]
fn flags_that_a_frame_does_not_have_are_ignored() {
    let mut server = Side::server();
    let all_but_metadata_and_follows = 0x3FF & !flag::METADATA & !flag::FOLLOWS;
    let event = server.hear_raw(1, kind::REQUEST_RESPONSE, all_but_metadata_and_follows, b"hi");
    let Some(Event::Request { payload, more, .. }) = event else { panic!("{event:?}") };
    assert_eq!((&*payload.data, more), (b"hi".as_slice(), More::Whole));
    let event = server.hear_raw(1, kind::CANCEL, 0x3FF, b"");
    assert!(matches!(event, Some(Event::Cancelled { .. })));
}

/// [FRAME-7]
#[test]
fn an_unknown_frame_that_may_be_ignored_is() {
    let mut server = Side::server();
    for unknown in [0, 0x0F, 0x20, 0x3E] {
        assert_eq!(server.hear_raw(1, unknown, flag::IGNORE, b"what"), None);
    }
    for body in [b"\0\0\0\x01what".as_slice(), b"\0\0", b"\xFF\xFF\xFF\xFF"] {
        assert_eq!(server.hear_raw(0, kind::EXT, flag::IGNORE, body), None);
    }
    server.is_silent();
    assert!(!server.connection.is_closed());
}

/// [FRAME-8]
#[test]
fn an_unknown_frame_that_may_not_be_ignored_ends_the_connection() {
    for unknown in [0, 0x0F, 0x20, 0x3E] {
        let mut server = Side::server();
        let event = server.hear_raw(1, unknown, 0, b"what");
        let expected = Error::UnknownType { kind: unknown, ignorable: Ignorable::No };
        assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::Frame(expected));
    }
    let mut server = Side::server();
    let event = server.hear_raw(0, kind::EXT, 0, b"\0\0\0\x05what");
    assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::Extension(5));
}

/// [FRAME-9]
#[test]
fn a_frame_whose_metadata_is_longer_than_itself_is_ignored() {
    let mut server = Side::server();
    assert_eq!(server.hear_raw(1, kind::REQUEST_RESPONSE, flag::METADATA, b"\0\0\x05meta"), None);
    assert_eq!(server.hear_raw(1, kind::REQUEST_RESPONSE, flag::METADATA, b"\xFF\xFF\xFF"), None);
    assert_eq!(server.hear_raw(1, kind::REQUEST_RESPONSE, flag::METADATA, b"\0\0"), None);
    server.is_silent();
    // The whole frame is ignored: its stream id has not been used.
    assert!(matches!(server.hear(request_response(1, b"hi")), Some(Event::Request { .. })));
}

/// [FRAME-10]
#[test]
fn no_metadata_and_empty_metadata_are_different() {
    let mut server = Side::server();
    for metadata in [None, Some(b"".as_slice()), Some(b"m")] {
        let id = StreamId(1 + 2 * metadata.map_or(0, |bytes| bytes.len() as u32 + 1));
        let payload = Payload { metadata, data: b"d" };
        let event = server.hear(Frame::RequestResponse { stream: id, more: More::Whole, payload });
        let Some(Event::Request { payload, .. }) = event else { panic!("{event:?}") };
        assert_eq!((payload.metadata.as_deref(), &*payload.data), (metadata, b"d".as_slice()));
    }
    let mut client = Side::client();
    let stream = client.ask(Interaction::RequestStream, 3, b"");
    let write = |out: &mut Vec<u8>| out.push(b'd');
    let mut server = Side::server();
    server.hear(request_stream(1, 3));
    for metadata in [None, Some(b"".as_slice()), Some(b"m")] {
        let (id, out) = (StreamId(1), &mut server.out);
        server.connection.payload(id, Completes::No, metadata, write, out).expect("credit");
        let event = client.hear(server.sent_frame());
        let Some(Event::Payload { payload, .. }) = event else { panic!("{event:?}") };
        assert_eq!(payload.metadata.as_deref(), metadata);
    }
    assert_eq!(stream, StreamId(1));
}

/// [FRAME-11]
#[test]
fn frames_follow_each_other_without_gaps() {
    let mut bytes = Vec::new();
    for stream in [1, 3, 5] {
        frame::encode(&request_response(stream, b"hi"), &mut bytes);
    }
    let mut server = Side::server();
    let mut at = 0;
    for stream in [1, 3, 5] {
        let received = server.connection.receive(1, &bytes[at..], &mut server.out);
        at += received.used;
        assert!(matches!(received.event, Some(Event::Request { stream: id, .. }) if id == StreamId(stream)));
    }
    assert_eq!(at, bytes.len());
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 2, b"");
    assert_eq!(client.hear(next(1, b"a")), value(1, 77, Completes::No, b"a"));
    assert_eq!(client.hear(next(1, b"b")), value(1, 77, Completes::No, b"b"));
}
