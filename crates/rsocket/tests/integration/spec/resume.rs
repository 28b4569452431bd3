//! Sessions: RESUME, RESUME_OK, positions.
//!
//! That nothing is lost or comes twice wherever a transport breaks is shown by `pipe.rs`.

use stadium_rsocket::connection::{
    Closed, Lease, RequestError, ResumeConfig, ResumeRefused, Suspended, Violation,
};
use stadium_rsocket::frame::{
    Completes, ErrorCode, Frame, Interaction, Respond, Resume, Setup, StreamId, Version, WantsLease,
};
use stadium_rsocket::{Config, Event, Tag};

use crate::spec::support::{SETUP, Side, error, last, next, request_response, request_stream, value};

fn config() -> Config {
    let resume = Some(ResumeConfig { store_bytes_max: 10_000, session_ms: 5_000 });
    Config { resume, keepalive_interval_ms: 500, lifetime_ms: 2_000, ..Config::default() }
}

fn client() -> Side {
    Side::client_with(config())
}

fn server() -> Side {
    Side::server_with(config(), Setup { resume_token: Some(b"token"), lifetime_ms: 2_000, ..SETUP })
}

fn resume(received: u64, available: u64) -> Resume<'static> {
    Resume {
        version: Version::V1_0,
        token: b"token",
        last_received_server_position: received,
        first_available_client_position: available,
    }
}

fn keepalive(respond: Respond, last_received_position: u64) -> Frame<'static> {
    Frame::KeepAlive { respond, last_received_position, data: b"" }
}

/// Bytes of a PAYLOAD or a REQUEST_RESPONSE with so much data and no metadata.
const fn bytes(data: u64) -> u64 {
    6 + data
}

/// [RESUME-1]
#[test]
fn a_client_offers_its_token() {
    let mut client = Side::connecting(config());
    let Frame::Setup(setup) = client.sent_frame() else { panic!("a SETUP") };
    assert_eq!(setup.resume_token, Some(b"token".as_slice()));
    assert_eq!(client.connection.resume_token(), Some(b"token".as_slice()));
    assert_eq!(server().connection.resume_token(), Some(b"token".as_slice()));
    // Not where there is no resumption.
    let mut client = Side::connecting(Config::default());
    assert!(matches!(client.sent_frame(), Frame::Setup(Setup { resume_token: None, .. })));
}

/// [RESUME-2]
#[test]
fn positions_count_the_bytes_of_frames_of_streams() {
    let mut server = server();
    server.hear(request_stream(1, 5));
    server.hear(Frame::MetadataPush { metadata: b"does not count" });
    server.hear(Frame::RequestN { stream: StreamId(1), n: 3 });
    server.hear(Frame::Cancel { stream: StreamId(9) });
    server.hear(keepalive(Respond::Yes, 0));
    // REQUEST_STREAM with 4 bytes of n and 3 of data, REQUEST_N, CANCEL; without the lengths before them.
    assert_eq!(server.sent_frame(), keepalive(Respond::No, (6 + 4 + 3) + (6 + 4) + 6));
    let mut client = client();
    client.ask(Interaction::RequestStream, 5, b"");
    client.hear(next(1, b"value"));
    client.hear(error(1, ErrorCode::CANCELED, "no"));
    client.sent_frames();
    client.wait(500);
    assert_eq!(client.sent_frame(), keepalive(Respond::Yes, bytes(5) + 6 + 4 + 2));
}

/// [RESUME-3]
#[test]
fn what_was_not_received_is_sent_again() {
    let (mut client, mut server) = (client(), server());
    client.ask(Interaction::RequestStream, 9, b"");
    server.hear(client.sent_frame());
    for data in [b"a", b"b", b"c"] {
        server.say(1, Completes::No, data);
    }
    let frames = server.sent_frames();
    assert_eq!(client.hear(frames[0]), value(1, 77, Completes::No, b"a"));
    // The transport breaks; both sides go on as they can.
    assert_eq!(client.connection.suspend(100), Suspended::Waits);
    assert_eq!(server.connection.suspend(100), Suspended::Waits);
    client.ask(Interaction::RequestResponse, 1, b"while away");
    server.say(1, Completes::Yes, b"d");
    client.is_silent();
    server.is_silent();

    client.connection.resume_client(200, &mut client.out);
    let Frame::Resume(asked) = client.sent_frame() else { panic!("a RESUME") };
    assert_eq!(asked, resume(bytes(1), 0));
    server.connection.resume_server(&asked, 200, &mut server.out).expect("everything is kept");
    let answered = server.sent_frames();
    let received = 6 + 4;
    assert_eq!(answered[0], Frame::ResumeOk { last_received_client_position: received });
    assert_eq!(answered[1..], [next(1, b"b"), next(1, b"c"), last(1, b"d")]);

    let mut events = answered.into_iter().map(|frame| client.hear(frame)).collect::<Vec<_>>();
    assert_eq!(events.remove(0), Some(Event::Resumed));
    assert_eq!(events.remove(0), value(1, 77, Completes::No, b"b"));
    assert_eq!(events.remove(0), value(1, 77, Completes::No, b"c"));
    assert_eq!(events.remove(0), value(1, 77, Completes::Yes, b"d"));
    let asked_again = client.sent_frame();
    assert_eq!(asked_again, request_response(3, b"while away"));
    assert!(matches!(server.hear(asked_again), Some(Event::Request { .. })));
}

/// [RESUME-4]
#[test]
fn a_resuming_client_says_nothing_else() {
    let mut client = client();
    client.connection.suspend(0);
    client.connection.resume_client(0, &mut client.out);
    assert!(matches!(client.sent_frame(), Frame::Resume(_)));
    client.ask(Interaction::RequestResponse, 1, b"");
    client.wait(600);
    client.connection.metadata_push(b"m", &mut client.out);
    client.is_silent();
    // And hears nothing else.
    assert_eq!(client.hear(request_response(2, b"")), None);
    assert_eq!(client.hear(Frame::ResumeOk { last_received_client_position: 0 }), Some(Event::Resumed));
    assert_eq!(client.sent_frame(), request_response(1, b""));
}

/// [RESUME-5]
#[test]
fn a_client_whose_resume_was_rejected_does_not_try_again() {
    let mut client = client();
    client.connection.suspend(0);
    client.connection.resume_client(0, &mut client.out);
    client.sent_frames();
    let closed = Closed::Peer { code: ErrorCode::REJECTED_RESUME, text: b"who?" };
    assert_eq!(client.hear(error(0, ErrorCode::REJECTED_RESUME, "who?")), Some(Event::Closed(closed)));
    assert!(client.connection.is_closed());
    client.connection.resume_client(0, &mut client.out);
    client.is_silent();
}

/// [RESUME-5]
#[test]
fn a_client_may_try_again_after_another_error() {
    let mut client = client();
    client.connection.suspend(0);
    client.connection.resume_client(0, &mut client.out);
    client.sent_frames();
    assert!(matches!(client.hear(error(0, ErrorCode::CONNECTION_ERROR, "busy")), Some(Event::Closed(_))));
    client.connection.resume_client(0, &mut client.out);
    assert!(matches!(client.sent_frame(), Frame::Resume(_)));
}

/// [RESUME-6]
#[test]
fn a_resume_is_handed_to_the_driver() {
    let mut stranger = Side::stranger(config());
    assert_eq!(stranger.hear(Frame::Resume(resume(5, 0))), Some(Event::Resume(resume(5, 0))));
    stranger.connection.refuse(ErrorCode::REJECTED_RESUME, "there is no such session", &mut stranger.out);
    assert_eq!(stranger.sent_frame(), error(0, ErrorCode::REJECTED_RESUME, "there is no such session"));
    // rsocket-js writes the minor version first; other versions are refused.
    let swapped = Resume { version: Version { major: 0, minor: 1 }, ..resume(0, 0) };
    assert!(matches!(Side::stranger(config()).hear(Frame::Resume(swapped)), Some(Event::Resume(_))));
    let version = Version { major: 2, minor: 0 };
    let mut stranger = Side::stranger(config());
    let event = stranger.hear(Frame::Resume(Resume { version, ..resume(0, 0) }));
    assert_eq!(stranger.ended(event, ErrorCode::INVALID_SETUP), Violation::Version(version));
}

/// [RESUME-7]
#[test]
fn a_resume_that_needs_lost_frames_is_rejected() {
    let resume_config = Some(ResumeConfig { store_bytes_max: 100, session_ms: 5_000 });
    let setup = Setup { resume_token: Some(b"token"), ..SETUP };
    let mut server = Side::server_with(Config { resume: resume_config, ..config() }, setup);
    server.hear(request_stream(1, 99));
    for _ in 0..10 {
        server.say(1, Completes::No, &[1; 20]);
    }
    server.sent_frames();
    assert!(server.connection.memory_bytes() < 1_000);
    server.connection.suspend(0);
    let refused = server.connection.resume_server(&resume(0, 0), 1, &mut server.out);
    assert_eq!(refused, Err(ResumeRefused::Lost { received: 0, available: 7 * bytes(20) }));
    assert!(matches!(server.sent_frame(), Frame::Error { code: ErrorCode::REJECTED_RESUME, .. }));
    assert!(server.connection.is_closed());
}

/// [RESUME-7]
#[test]
fn a_resume_from_where_no_frame_begins_is_rejected() {
    let mut server = server();
    server.hear(request_stream(1, 99));
    server.say(1, Completes::No, b"value");
    server.connection.suspend(0);
    let (position, out) = (bytes(5) - 1, &mut server.out);
    let refused = server.connection.resume_server(&resume(position, 0), 1, out);
    assert_eq!(refused, Err(ResumeRefused::Lost { received: position, available: 0 }));
}

/// [RESUME-7]
#[test]
fn a_resume_of_a_client_that_lost_frames_is_rejected() {
    let mut server = server();
    server.hear(request_response(1, b"hi"));
    server.connection.suspend(0);
    let refused = server.connection.resume_server(&resume(0, 100), 1, &mut server.out);
    assert_eq!(refused, Err(ResumeRefused::PeerLost { received: bytes(2), available: 100 }));
    assert!(matches!(server.sent_frame(), Frame::Error { code: ErrorCode::REJECTED_RESUME, .. }));
}

/// [RESUME-7]
#[test]
fn a_resume_ok_that_cannot_be_ends_the_session() {
    let mut client = client();
    client.ask(Interaction::RequestResponse, 1, b"hi");
    client.connection.suspend(0);
    client.connection.resume_client(0, &mut client.out);
    let event = client.hear(Frame::ResumeOk { last_received_client_position: 99 });
    assert_eq!(client.ended(event, ErrorCode::CONNECTION_ERROR), Violation::ResumePosition(99));
}

/// [RESUME-8]
#[test]
fn another_token_is_another_session() {
    let mut server = server();
    server.connection.suspend(0);
    let other = Resume { token: b"guess", ..resume(0, 0) };
    assert_eq!(server.connection.resume_server(&other, 1, &mut server.out), Err(ResumeRefused::Ended));
}

/// [RESUME-9]
#[test]
fn a_late_resume_ends_the_connection() {
    let mut server = server();
    let event = server.hear(Frame::Resume(resume(0, 0)));
    assert_eq!(server.ended(event, ErrorCode::CONNECTION_ERROR), Violation::LateResume);
}

/// [RESUME-10]
#[test]
fn keepalives_trim_what_is_kept() {
    let mut server = server();
    server.hear(request_stream(1, 99));
    for _ in 0..10 {
        server.say(1, Completes::No, &[1; 500]);
    }
    server.sent_frames();
    let before = server.connection.memory_bytes();
    assert!(before > 5_000);
    server.hear(keepalive(Respond::No, 9 * bytes(500)));
    server.connection.suspend(0);
    server
        .connection
        .resume_server(&resume(9 * bytes(500), 0), 1, &mut server.out)
        .expect("the last is kept");
    assert_eq!(server.sent_frames()[1..].len(), 1);
    server.connection.suspend(0);
    let refused = server.connection.resume_server(&resume(8 * bytes(500), 0), 1, &mut server.out);
    assert!(matches!(refused, Err(ResumeRefused::Lost { .. })));
}

/// [RESUME-11]
#[test]
fn a_session_waits_no_longer_than_configured() {
    for mut side in [client(), server()] {
        assert_eq!(side.connection.suspend(100), Suspended::Waits);
        assert_eq!(side.connection.deadline_ms(), Some(5_100));
        assert_eq!(side.wait(5_099), None);
        assert_eq!(side.wait(1), Some(Event::Closed(Closed::SessionExpired)));
        side.is_silent();
        assert!(side.connection.is_closed());
    }
    // Attempts do not make it longer.
    let mut client = client();
    client.connection.suspend(0);
    client.connection.resume_client(1_000, &mut client.out);
    client.connection.suspend(2_000);
    assert_eq!(client.connection.deadline_ms(), Some(5_000));
}

/// [RESUME-12]
#[test]
fn without_a_session_there_is_nothing_to_wait_for() {
    for mut side in [Side::client(), Side::server()] {
        assert_eq!(side.connection.suspend(0), Suspended::Ended);
        assert!(side.connection.is_closed());
    }
    // A client that did not ask for resumption has none at a server that offers it.
    let mut server = Side::server_with(config(), SETUP);
    assert_eq!(server.connection.suspend(0), Suspended::Ended);
}

/// [RESUME-13]
#[test]
fn silence_suspends_a_session() {
    let mut client = client();
    client.ask(Interaction::RequestResponse, 1, b"");
    client.sent_frames();
    for _ in 0..3 {
        assert_eq!(client.wait(500), None);
    }
    client.sent_frames();
    let event = client.wait(500);
    assert_eq!(event, Some(Event::Closed(Closed::KeepAliveTimeout { lifetime_ms: 2_000 })));
    // No ERROR, which would end the session if it arrived.
    client.is_silent();
    client.connection.resume_client(2_100, &mut client.out);
    assert!(matches!(client.sent_frame(), Frame::Resume(_)));
    assert_eq!(client.hear(Frame::ResumeOk { last_received_client_position: 0 }), Some(Event::Resumed));
    assert_eq!(client.sent_frame(), request_response(1, b""));
}

/// [LEASE-11]
#[test]
fn leases_begin_anew_on_a_new_transport() {
    let config = Config { lease: Lease::Honour, ..config() };
    let mut client = Side::client_with(config);
    client.hear(Frame::Lease { ttl_ms: 100_000, requests: 5, metadata: None });
    client.connection.suspend(0);
    client.connection.resume_client(0, &mut client.out);
    client.hear(Frame::ResumeOk { last_received_client_position: 0 });
    let out = &mut client.out;
    let refused =
        client.connection.request(Interaction::RequestResponse, 1, Completes::No, Tag(1), None, |_| {}, out);
    assert_eq!(refused, Err(RequestError::NoLease { retry_after_ms: 0 }));
    let setup = Setup { resume_token: Some(b"token"), lease: WantsLease::Yes, ..SETUP };
    let mut server = Side::server_with(Config { lease: Lease::Grant, ..self::config() }, setup);
    server.connection.grant_lease(100_000, 5, &mut server.out);
    server.connection.suspend(0);
    server.connection.resume_server(&resume(0, 0), 0, &mut server.out).expect("nothing is missing");
    server.sent_frames();
    assert_eq!(server.hear(request_response(1, b"")), None);
    assert!(matches!(server.sent_frame(), Frame::Error { code: ErrorCode::REJECTED, .. }));
}
