//! Handling the unexpected: what makes no sense is ignored.

use stadium_rsocket::Event;
use stadium_rsocket::frame::{
    Completes, ErrorCode, Frame, Interaction, More, Next, Respond, StreamId, flag, kind,
};

use crate::spec::support::{Side, complete, error, last, next, payload, request_response, value};

/// [UNEXPECTED-1]
#[test]
fn frames_of_unknown_streams_are_ignored() {
    for mut side in [Side::server(), Side::client()] {
        for stream in [0, 1, 2, 99, 0x7FFF_FFFF] {
            let id = StreamId(stream);
            assert_eq!(side.hear(Frame::Cancel { stream: id }), None);
            assert_eq!(side.hear(Frame::RequestN { stream: id, n: 5 }), None);
            assert_eq!(side.hear(next(stream, b"x")), None);
            assert_eq!(side.hear(last(stream, b"x")), None);
            assert_eq!(side.hear(complete(stream)), None);
            if stream != 0 {
                assert_eq!(side.hear(error(stream, ErrorCode::CANCELED, "x")), None);
            }
            let (more, completes, next) = (More::Follows, Completes::No, Next::Value);
            let part = Frame::Payload { stream: id, more, completes, next, payload: payload(b"x") };
            assert_eq!(side.hear(part), None);
        }
        side.is_silent();
        assert!(side.connection.is_open());
    }
}

/// [UNEXPECTED-2]
#[test]
fn metadata_push_belongs_to_the_connection() {
    for mut side in [Side::server(), Side::client()] {
        let push = Frame::MetadataPush { metadata: b"load" };
        assert_eq!(side.hear(push), Some(Event::MetadataPush(b"load")));
        assert_eq!(side.hear_raw(1, kind::METADATA_PUSH, flag::METADATA, b"load"), None);
        side.connection.metadata_push(b"ours", &mut side.out);
        assert_eq!(side.sent_frame(), Frame::MetadataPush { metadata: b"ours" });
    }
}

/// [UNEXPECTED-3]
#[test]
fn frames_of_the_connection_are_ignored_on_streams() {
    let mut client = Side::client();
    assert_eq!(client.hear_raw(1, kind::KEEPALIVE, flag::RESPOND, &[0; 8]), None);
    assert_eq!(client.hear_raw(1, kind::LEASE, 0, &[0, 0, 0, 9, 0, 0, 0, 9]), None);
    assert_eq!(client.hear_raw(0, kind::RESUME_OK, 0, &[0; 8]), None);
    client.is_silent();
    assert!(client.connection.is_open());
}

/// [UNEXPECTED-4]
#[test]
fn credit_for_an_answer_is_ignored() {
    let mut server = Side::server();
    server.hear(request_response(1, b""));
    assert_eq!(server.hear(Frame::RequestN { stream: StreamId(1), n: 3 }), None);
    server.say(1, Completes::Yes, b"");
    // And the requester has nobody to give credit to.
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 1, b"");
    assert_eq!(client.hear(Frame::RequestN { stream: StreamId(1), n: 3 }), None);
    assert_eq!(client.connection.credit(StreamId(1)), 0);
}

/// [UNEXPECTED-5]
#[test]
fn a_payload_without_value_and_completion_is_ignored() {
    let mut client = Side::client();
    client.ask(Interaction::RequestStream, 1, b"");
    assert_eq!(client.hear_raw(1, kind::PAYLOAD, 0, b"what"), None);
    assert_eq!(client.hear(last(1, b"a")), value(1, 77, Completes::Yes, b"a"));
}

/// [UNEXPECTED-6]
#[test]
fn a_responder_hears_no_values_of_a_requester_that_has_none() {
    let mut server = Side::server();
    server.hear(request_response(1, b""));
    assert_eq!(server.hear(next(1, b"x")), None);
    assert_eq!(server.hear(error(1, ErrorCode::CANCELED, "x")), None);
    server.say(1, Completes::Yes, b"");
}

/// [UNEXPECTED-7]
#[test]
fn too_many_streams_are_refused() {
    let config = stadium_rsocket::Config { streams_max: 3, ..Default::default() };
    let mut server = Side::server_with(config, crate::spec::support::SETUP);
    for stream in [1, 3, 5] {
        assert!(server.hear(request_response(stream, b"")).is_some());
    }
    assert_eq!(server.hear(request_response(7, b"")), None);
    let refused = error(7, ErrorCode::REJECTED, "BUSY retry_after_ms=0: 3 streams are open");
    assert_eq!(server.sent_frame(), refused);
    server.say(3, Completes::Yes, b"");
    assert!(server.hear(request_response(9, b"")).is_some());
}

/// [UNEXPECTED-3]
#[test]
fn an_answer_to_no_question_is_ignored() {
    let mut client = Side::client();
    let keepalive = Frame::KeepAlive { respond: Respond::No, last_received_position: 1 << 40, data: b"?" };
    assert_eq!(client.hear(keepalive), None);
    client.is_silent();
}
