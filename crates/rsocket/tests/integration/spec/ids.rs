//! Stream identifiers.

use stadium_rsocket::connection::{RequestError, Violation};
use stadium_rsocket::frame::{Completes, ErrorCode, Frame, Interaction, More, StreamId};
use stadium_rsocket::{Config, Event, Tag};

use crate::spec::support::{Side, payload, request_channel, request_response, request_stream};

/// [ID-1]
#[test]
fn a_client_counts_its_streams_in_odd_numbers() {
    let mut client = Side::client();
    for expected in [1, 3, 5, 7] {
        assert_eq!(client.ask(Interaction::RequestResponse, 1, b""), StreamId(expected));
    }
}

/// [ID-2]
#[test]
fn a_server_counts_its_streams_in_even_numbers() {
    let mut server = Side::server();
    for expected in [2, 4, 6, 8] {
        assert_eq!(server.ask(Interaction::RequestStream, 1, b""), StreamId(expected));
    }
}

/// [ID-1] [ID-3]
#[test]
fn every_interaction_takes_an_id() {
    let mut client = Side::client();
    assert_eq!(client.ask(Interaction::FireAndForget, 1, b""), StreamId(1));
    assert_eq!(client.ask(Interaction::RequestChannel, 1, b""), StreamId(3));
    assert_eq!(client.ask(Interaction::RequestStream, 1, b""), StreamId(5));
    assert_eq!(client.connection.streams_open(), 2);
}

/// [ID-3]
#[test]
fn a_request_that_was_not_sent_takes_no_id() {
    let mut client = Side::client_with(Config { fragment_bytes: 0, streams_max: 1, ..Config::default() });
    let write = |out: &mut Vec<u8>| out.resize(out.len() + (1 << 24), 0);
    let out = &mut client.out;
    let refused =
        client.connection.request(Interaction::RequestResponse, 1, Completes::No, Tag(1), None, write, out);
    assert_eq!(refused, Err(RequestError::TooLarge));
    client.is_silent();
    assert_eq!(client.ask(Interaction::RequestResponse, 1, b""), StreamId(1));
}

/// [ID-4]
#[test]
fn a_request_on_the_other_sides_ids_ends_the_connection() {
    for stream in [0, 2, 4] {
        for request in [request_response(stream, b""), request_stream(stream, 1), request_channel(stream, 1)]
        {
            let mut server = Side::server();
            let event = server.hear(request);
            let expected = Violation::StreamParity(StreamId(stream));
            assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), expected);
        }
    }
    let mut client = Side::client();
    let event = client.hear(request_response(3, b""));
    assert_eq!(client.ended(event, ErrorCode::CONNECTION_ERROR), Violation::StreamParity(StreamId(3)));
}

/// [ID-5]
#[test]
fn a_stream_id_that_is_in_use_ends_the_connection() {
    let mut server = Side::server();
    server.hear(request_stream(1, 1));
    let event = server.hear(request_stream(1, 1));
    assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::StreamReused(StreamId(1)));
    // Also long after it began.
    let mut server = Side::server();
    server.hear(request_stream(1, 1));
    for nth in 1..200 {
        server.hear(request_response(1 + 2 * nth, b""));
    }
    let event = server.hear(request_stream(1, 1));
    assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::StreamReused(StreamId(1)));
}

/// [ID-5]
#[test]
fn a_stream_id_that_was_used_ends_the_connection() {
    let mut server = Side::server();
    server.hear(request_response(1, b""));
    server.say(1, Completes::Yes, b"");
    server.hear(request_response(3, b""));
    server.say(3, Completes::Yes, b"");
    server.sent_frames();
    let event = server.hear(request_response(1, b""));
    assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::StreamReused(StreamId(1)));
    let mut server = Side::server();
    let fired = Frame::RequestFireAndForget { stream: StreamId(5), more: More::Whole, payload: payload(b"") };
    server.hear(fired);
    let event = server.hear(fired);
    assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::StreamReused(StreamId(5)));
}

/// [ID-5]
#[test]
fn a_stream_id_stays_used_however_long_ago_that_was() {
    for behind in [63, 64, 65, 200] {
        let mut server = Side::server();
        for nth in 0..=behind {
            server.hear(request_response(1 + 2 * nth, b""));
            server.say(1 + 2 * nth, Completes::Yes, b"");
        }
        server.sent_frames();
        let event = server.hear(request_response(1, b""));
        let expected = Violation::StreamReused(StreamId(1));
        assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), expected, "{behind} ids later");
    }
}

/// [ID-8]
#[test]
fn a_requester_that_has_used_its_last_id_begins_again() {
    let mut server = Side::server();
    // A stream that stays open while all ids are used.
    server.hear(request_stream(3, 1));
    for stream in [1, 0x7FFF_FFFD, 0x7FFF_FFFF] {
        server.hear(request_response(stream, b""));
        server.say(stream, Completes::Yes, b"");
    }
    server.sent_frames();
    for stream in [1, 5, 7] {
        let event = server.hear(request_response(stream, b""));
        assert!(matches!(event, Some(Event::Request { .. })), "{stream}: {event:?}");
    }
    let event = server.hear(request_response(3, b""));
    assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::StreamReused(StreamId(3)));
}

/// [ID-6]
#[test]
fn requests_of_several_threads_may_come_out_of_order() {
    let mut server = Side::server();
    for stream in [5, 1, 3, 131, 7, 129] {
        let event = server.hear(request_response(stream, b""));
        assert!(matches!(event, Some(Event::Request { .. })), "{stream}: {event:?}");
    }
}
